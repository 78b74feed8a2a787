from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from events.models import AuditEntry
from shared.actor import COMMAND
from tenants.choices import SCOPES
from tenants.models import ApiKey, Tenant
from tenants.quotas import known
from tests.support.api import ApiClient
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("tenant", *words, stdout=out)
    return out.getvalue()


def test_create_prints_the_id_and_a_key_that_works():
    document = read_document("tenant-create", _run("create", "Billing", "--json"))

    assert {"id", "api_key"} <= set(document)
    me = ApiClient(document["api_key"]).get("/v1/me").json()
    assert me["tenant"]["id"] == document["id"]
    assert me["scopes"] == list(SCOPES)


def test_create_for_people_shows_the_same():
    text = _run("create", "Billing")

    assert str(Tenant.objects.get().id) in text
    assert ApiKey.objects.get().prefix in text


def test_a_taken_name_exits_with_4_and_a_bad_one_with_2(alpha):
    for name, code in (("Alpha", 4), ("", 2)):
        with pytest.raises(CommandError) as raised:
            _run("create", name)
        assert raised.value.returncode == code


def test_list_shows_every_tenant(alpha, beta):
    rows = read_document("tenant-list", _run("list", "--json"))["tenants"]

    assert [row["name"] for row in rows] == ["Alpha", "Beta"]
    assert _run("list").count("\n") == 3


def test_a_tenant_is_suspended_and_may_call_again(alpha):
    suspended = read_document("tenant-suspend", _run("suspend", "Alpha", "--yes", "--json"))
    assert suspended["suspended_at"] is not None

    resumed = read_document("tenant-resume", _run("resume", str(alpha.id), "--json"))

    assert resumed["suspended_at"] is None
    alpha.refresh_from_db()
    assert alpha.suspended_at is None


def test_suspending_is_asked_before(alpha):
    with pytest.raises(CommandError):
        _run("suspend", "Alpha")

    alpha.refresh_from_db()
    assert alpha.suspended_at is None


def test_the_default_jitter_is_set_and_audited(alpha):
    document = read_document(
        "tenant-set", _run("set", "Alpha", "--default-jitter-seconds", "30", "--json")
    )

    assert document["default_jitter_seconds"] == 30
    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 30
    assert AuditEntry.objects.filter(tenant_id=alpha.id, action="tenant.changed").count() == 1
    assert "default_jitter_seconds 0" in _run("set", "Alpha", "--default-jitter-seconds", "0")


def test_stricter_idempotency_is_set_and_taken_back(alpha):
    words = ("--idempotency-required", "--idempotency-seconds", "604800")
    document = read_document("tenant-set", _run("set", "Alpha", *words, "--json"))

    assert (document["idempotency_required"], document["idempotency_seconds"]) == (True, 604_800)
    alpha.refresh_from_db()
    assert (alpha.idempotency_required, alpha.idempotency_seconds) == (True, 604_800)
    said = _run("set", "Alpha", "--no-idempotency-required")
    assert said.strip() == "Alpha: idempotency_required off"


def test_a_version_that_has_been_overtaken_changes_nothing(alpha):
    words = ("--idempotency-seconds", "604800", "--json")
    assert read_document("tenant-set", _run("set", "Alpha", *words))["version"] == 2

    with pytest.raises(CommandError) as raised:
        _run("set", "Alpha", "--idempotency-required", "--version-seen", "1")

    assert "at version 2, not 1" in str(raised.value)
    alpha.refresh_from_db()
    assert alpha.idempotency_required is False


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["Alpha"], 2),
        (["Alpha", "--idempotency-seconds", "86399"], 2),
        (["Alpha", "--idempotency-seconds", "2592001"], 2),
        (["Alpha", "--default-jitter-seconds", "-1"], 2),
        (["Alpha", "--default-jitter-seconds", "nan"], 2),
        (["Alpha", "--default-jitter-seconds", "86401"], 2),
        (["Nobody", "--default-jitter-seconds", "5"], 3),
    ],
)
def test_a_setting_that_cannot_be_is_refused(alpha, words, code):
    with pytest.raises(CommandError) as raised:
        _run("set", *words)

    assert raised.value.returncode == code
    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 0


def test_quotas_are_shown_changed_and_given_back_to_the_tier(alpha):
    shown = read_document("tenant-quotas", _run("quotas", "Alpha", "--json"))
    assert shown["own"] == {}
    assert {one["limit"] for one in shown["quotas"]} == {None}

    words = ("--set", "stored_tasks=10", "creations_per_second=none")
    changed = read_document("tenant-quotas", _run("quotas", str(alpha.id), *words, "--json"))
    assert changed["own"] == {"stored_tasks": 10, "creations_per_second": None}
    assert (changed["quotas"][0]["limit"], changed["quotas"][0]["share"]) == (10, 0.0)
    assert "stored_tasks" in _run("quotas", "Alpha")

    back = read_document(
        "tenant-quotas", _run("quotas", "Alpha", "--set", "stored_tasks=tier", "--json")
    )
    assert back["own"] == {"creations_per_second": None}
    entries = AuditEntry.objects.filter(tenant_id=alpha.id, action="tenant.quotas_changed")
    assert [entry.actor for entry in entries] == [COMMAND.name, COMMAND.name]


def test_the_weight_is_shown_and_changed(alpha):
    assert read_document("tenant-quotas", _run("quotas", "Alpha", "--json"))["weight"] == 1

    said = call("tenant", "quotas", "Alpha", "--weight", "3")

    assert "weight  3" in said.out
    assert call("tenant", "quotas", "Alpha", "--weight", "0").code == 2
    alpha.refresh_from_db()
    assert alpha.weight == 3


@pytest.mark.parametrize("option", ["--limited", "--unlimited"])
def test_settings_take_no_option_of_quotas(alpha, option):
    with pytest.raises(CommandError, match="unrecognized arguments"):
        _run("set", "Alpha", "--default-jitter-seconds", "30", option)


def test_quotas_of_an_unlimited_tenant_hold_once_it_is_limited(alpha):
    Tenant.objects.filter(pk=alpha.pk).update(unlimited=True)

    said = call("tenant", "quotas", "Alpha", "--set", "stored_tasks=3")
    assert "unlimited" in said.err
    assert known.limits_of(alpha.pk).of("stored_tasks") is None

    assert call("tenant", "quotas", "Alpha", "--limited").code == 0
    assert known.limits_of(alpha.pk).of("stored_tasks") == 3
    entry = AuditEntry.objects.filter(tenant_id=alpha.pk).latest("sequence")
    assert ("true" in (entry.before or ""), "false" in (entry.after or "")) == (True, True)

    assert call("tenant", "quotas", "Alpha", "--unlimited").code == 0
    assert known.limits_of(alpha.pk).of("stored_tasks") is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["Alpha", "--set", "stored_tasks"], 2),
        (["Alpha", "--set", "stored_tasks=-1"], 2),
        (["Alpha", "--set", "stored_tasks=1e3"], 2),
        (["Alpha", "--set", "stored_tasks=" + "9" * 5000], 2),
        (["Alpha", "--set", "stored_tasks=1", "stored_tasks=2"], 2),
        (["Alpha", "--set", "stored_tasks=1", "stored_tasks=tier"], 2),
        (["Alpha", "--set", "tasks=1"], 2),
        (["Alpha", "--set", "tasks=tier"], 2),
        (["Alpha", "--set", "creations_per_second=0"], 2),
        (["Alpha", "--tier", "gone"], 2),
        (["Nobody", "--set", "stored_tasks=1"], 3),
    ],
)
def test_a_quota_that_cannot_be_is_refused(alpha, words, code):
    with pytest.raises(CommandError) as raised:
        _run("quotas", *words)

    assert raised.value.returncode == code
    alpha.refresh_from_db()
    assert (alpha.quotas, alpha.tier) == ({}, "default")


def test_a_tier_that_is_no_longer_named_is_noted(alpha, capsys):
    Tenant.objects.filter(pk=alpha.pk).update(tier="gone")

    assert "gone" in _run("quotas", "Alpha")
    assert "TIERS of this process names no tier 'gone'" in capsys.readouterr().err


def test_set_requires_a_second_factor_of_members(alpha):
    document = read_document(
        "tenant-set", _run("set", "Alpha", "--second-factor-required", "--json")
    )

    assert document["second_factor_required"] is True
    alpha.refresh_from_db()
    assert alpha.second_factor_required


def test_set_takes_back_that_members_sign_in_by_a_provider_only(alpha):
    Tenant.objects.filter(pk=alpha.pk).update(provider_required=True)

    document = read_document("tenant-set", _run("set", "Alpha", "--no-provider-required", "--json"))

    assert document["provider_required"] is False
    alpha.refresh_from_db()
    assert not alpha.provider_required


def test_set_refuses_to_lock_all_owners_out(alpha, capsys):
    with pytest.raises(CommandError, match="No owner"):
        _run("set", "Alpha", "--provider-required")


def test_a_tenant_is_exported_to_a_new_file(alpha: Tenant, tmp_path: Path):
    path = tmp_path / "alpha.zip"

    said = call("tenant", "export", alpha.name, "--to", str(path), "--json")

    document = read_document("tenant-export", said.out)
    assert (document["file"], document["with_payloads"]) == (str(path), False)
    assert document["rows"]["tenant"] == 1
    assert call("tenant", "export", alpha.name, "--to", str(path)).code == 4
    assert call("tenant", "export", alpha.name, "--to", str(tmp_path / "no" / "x")).code == 2


def test_a_tenant_is_erased_only_where_its_name_is_repeated(alpha: Tenant):
    words = ("tenant", "erase", alpha.name, "--note", "contract ended")
    assert call(*words, "--confirm", "another").code == 2
    assert Tenant.objects.filter(pk=alpha.pk).exists()

    said = call(*words, "--confirm", alpha.name, "--json")

    assert read_document("tenant-erase", said.out)["status"] == "COMPLETED"
    assert not Tenant.objects.filter(pk=alpha.pk).exists()
