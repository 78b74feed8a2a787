from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from events.models import AuditEntry
from tenants.choices import SCOPES
from tenants.models import ApiKey, Tenant
from tests.support.api import ApiClient
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
