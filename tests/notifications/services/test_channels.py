"""Channels are made, changed and removed; their URLs are sealed, and told to none."""

from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from notifications.models import AlertChannel, AlertRule
from notifications.services import channels
from notifications.services.channels import (
    change_channel,
    create_channel,
    get_channel,
    list_channels,
    open_url,
    remove_channel,
)
from shared.exceptions import Conflict, InvalidInput, NotFound, QuotaExceeded, VersionMismatch
from shared.ids import new_id
from tests.factories import ACTOR, make_tenant
from tests.support.alert_channels import TOKEN, URL, body, make_channel

pytestmark = pytest.mark.django_db


def rule_of(tenant: Any, **parts: Any) -> AlertRule:
    return AlertRule.objects.create(tenant=tenant, name="mine", kind="late_start", **parts)


def test_a_new_channel_gets_all_but_first_failures_and_its_url_is_sealed() -> None:
    made = make_channel(make_tenant())

    assert "first_failure" not in made.kinds
    assert {"final_failure", "did_not_run"} <= set(made.kinds)
    assert (made.service, made.host) == ("webhook", "hooks.example.com")
    assert TOKEN.encode() not in AlertChannel.objects.get().sealed_url
    assert open_url(AlertChannel.objects.get()) == URL


def test_the_audit_has_each_change_and_never_the_url() -> None:
    tenant = make_tenant()
    made = make_channel(tenant)
    change_channel(tenant.id, made.id, {"url": f"{URL}-2"}, actor=ACTOR)
    remove_channel(tenant.id, made.id, actor=ACTOR)

    entries = list(AuditEntry.objects.filter(object_kind="alert_channel").order_by("sequence"))
    assert [one.action.split(".")[1] for one in entries] == ["created", "updated", "removed"]
    assert not [one for one in entries if TOKEN in f"{one.before}{one.after}"]


def test_changes_leave_out_what_stays() -> None:
    tenant = make_tenant()
    made = make_channel(tenant)
    AlertChannel.objects.update(error="old", failed_at=made.created_at)
    parts = {"name": "night", "kinds": ["late_start"]}

    changed = change_channel(tenant.id, made.id, parts, actor=ACTOR, expected_version=1)

    assert (changed.name, changed.kinds, changed.version) == ("night", ["late_start"], 2)
    assert (open_url(changed), changed.error) == (URL, "old")
    assert change_channel(tenant.id, made.id, parts, actor=ACTOR).version == 2
    with pytest.raises(VersionMismatch):
        change_channel(tenant.id, made.id, parts, actor=ACTOR, expected_version=1)


def test_a_new_url_begins_without_the_errors_of_the_old_one() -> None:
    tenant = make_tenant()
    made = make_channel(tenant)
    AlertChannel.objects.update(error="old", failed_at=made.created_at)

    changed = change_channel(tenant.id, made.id, {"url": "https://b.example/x"}, actor=ACTOR)

    assert (changed.host, changed.error, changed.failed_at) == ("b.example", "", None)


def test_a_channel_names_rules_of_its_own_tenant_only() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    mine, foreign = rule_of(tenant), rule_of(other)
    built_in = rule_of(tenant, built_in=True)

    made = make_channel(tenant, rules=[str(mine.pk)])

    assert [one.rule_id for one in made.rules.all()] == [mine.pk]
    for wrong in (foreign, built_in):
        with pytest.raises(InvalidInput):
            change_channel(tenant.id, made.id, {"rules": [str(wrong.pk)]}, actor=ACTOR)
    assert not change_channel(tenant.id, made.id, {"rules": []}, actor=ACTOR).rules.exists()


def test_names_are_unique_in_a_tenant() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    make_channel(tenant)
    make_channel(other)

    with pytest.raises(Conflict) as caught:
        make_channel(tenant)
    assert caught.value.code == "channel_exists"


def test_another_tenants_channel_is_unknown() -> None:
    made, other = make_channel(make_tenant("Alpha")), make_tenant("Beta")

    assert not list_channels(other.id).exists()
    for call in (
        lambda: get_channel(other.id, made.id),
        lambda: change_channel(other.id, made.id, {"name": "x"}, actor=ACTOR),
        lambda: remove_channel(other.id, made.id, actor=ACTOR),
        lambda: get_channel(other.id, new_id()),
    ):
        with pytest.raises(NotFound):
            call()


def test_a_tenant_has_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    monkeypatch.setattr(channels, "MOST_CHANNELS", 1)
    make_channel(tenant)

    with pytest.raises(QuotaExceeded):
        create_channel(tenant.id, body("second"), actor=ACTOR)
