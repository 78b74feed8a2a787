from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from events.models import AuditEntry, Event
from shared.conf import conf
from shared.exceptions import InvalidInput, NotFound, VersionMismatch
from shared.ids import new_id
from tenants.models import Tenant
from tenants.quotas.known import limits_of
from tenants.quotas.limits import Limits
from tenants.services.quotas import QUOTA_NEAR, change_quotas, note_use, tiers
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db


@pytest.fixture
def small(settings: Any) -> None:
    settings.PUNCTUAL = replace(conf(), tiers={"small": {"stored_tasks": 10}})


def test_limits_are_changed_and_audited_and_hold_at_once(alpha: Tenant):
    limits_of(alpha.id)

    changed = change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 5})

    assert (changed.quotas, changed.version) == ({"stored_tasks": 5}, 2)
    assert limits_of(alpha.id).stored_tasks == 5
    entry = AuditEntry.objects.get(tenant_id=alpha.id, action="tenant.quotas_changed")
    same = {"tier": "default", "unlimited": False, "weight": 1}
    assert json.loads(entry.before or "") == {**same, "quotas": {}}
    assert json.loads(entry.after or "") == {**same, "quotas": {"stored_tasks": 5}}


def test_what_is_left_out_stays_and_the_tiers_limit_comes_back(alpha: Tenant, small: None):
    change_quotas(
        alpha.id, actor=ACTOR, limits={"stored_tasks": None, "calls_per_second": 5}, tier="small"
    )
    assert limits_of(alpha.id).stored_tasks is None

    changed = change_quotas(alpha.id, actor=ACTOR, follow=("stored_tasks",))

    assert changed.quotas == {"calls_per_second": 5}
    assert changed.tier == "small"
    assert limits_of(alpha.id).stored_tasks == 10


def test_a_weight_is_changed_and_audited(alpha: Tenant):
    changed = change_quotas(alpha.id, actor=ACTOR, weight=3)

    assert (changed.weight, changed.version) == (3, 2)
    entry = AuditEntry.objects.get(tenant_id=alpha.id, action="tenant.quotas_changed")
    assert json.loads(entry.before or "")["weight"] == 1
    assert json.loads(entry.after or "")["weight"] == 3


@pytest.mark.parametrize("weight", [0, -1, 1001, True, 1.5, "2"])
def test_a_weight_out_of_bounds_is_refused(alpha: Tenant, weight: Any):
    with pytest.raises(InvalidInput) as refused:
        change_quotas(alpha.id, actor=ACTOR, weight=weight)

    assert [error.pointer for error in refused.value.errors] == ["#/weight"]
    alpha.refresh_from_db()
    assert (alpha.weight, alpha.version) == (1, 1)


def test_a_change_to_the_same_is_none(alpha: Tenant):
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 5})
    again = change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 5}, tier="default")

    assert again.version == 2
    assert AuditEntry.objects.filter(action="tenant.quotas_changed").count() == 1


def test_what_cannot_be_is_refused_and_changes_nothing(alpha: Tenant):
    for wrong in (
        {"tier": "gone"},
        {"tier": ""},
        {"limits": {"stored_tasks": -1}},
        {"limits": {"tasks": 1}},
        {"follow": ("tasks",)},
    ):
        with pytest.raises(InvalidInput):
            change_quotas(alpha.id, actor=ACTOR, **wrong)
    with pytest.raises(VersionMismatch):
        change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 1}, expected_version=7)
    with pytest.raises(NotFound):
        change_quotas(new_id(), actor=ACTOR, limits={"stored_tasks": 1})

    alpha.refresh_from_db()
    assert (alpha.quotas, alpha.tier, alpha.version) == ({}, "default", 1)


def test_the_tiers_are_those_of_the_settings_and_the_default_one(small: None):
    assert tiers() == ["default", "small"]


def note(tenant: Tenant, used: int) -> list[str]:
    near = Tenant.objects.values_list("quotas_near", flat=True).get(pk=tenant.pk)
    return note_use(tenant.pk, near, {"stored_tasks": used}, Limits(stored_tasks=100))


def test_a_quota_is_reported_once_and_again_only_after_it_was_below_70_percent(alpha: Tenant):
    reported = [bool(note(alpha, used)) for used in (79, 80, 95, 71, 80, 69, 79, 81)]

    assert reported == [False, True, False, False, False, False, False, True]
    events = Event.objects.filter(name=QUOTA_NEAR).order_by("id")
    assert [event.subject_id for event in events] == [alpha.id, alpha.id]
    assert events[0].data == {"quota": "stored_tasks", "limit": 100, "used": 80, "share": 0.8}


def test_of_two_that_note_at_once_one_reports(alpha: Tenant):
    limits, used = Limits(stored_tasks=100), {"stored_tasks": 90}

    first = note_use(alpha.id, [], used, limits)
    second = note_use(alpha.id, [], used, limits)

    assert (first, second) == (["stored_tasks"], [])
    assert Event.objects.filter(name=QUOTA_NEAR).count() == 1


def test_a_lifted_limit_is_no_longer_near(alpha: Tenant):
    note(alpha, 90)

    assert note_use(alpha.id, ["stored_tasks"], {"stored_tasks": 90}, Limits()) == []

    alpha.refresh_from_db()
    assert alpha.quotas_near == []
