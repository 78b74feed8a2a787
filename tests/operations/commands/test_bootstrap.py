"""``bootstrap`` prepares a new installation, and changes nothing that is there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django_celery_beat.models import PeriodicTask

from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from tenants.models import ApiKey, Tenant
from tests.support.api import ApiClient

# The command opens the durable transaction itself.
pytestmark = pytest.mark.django_db(transaction=True)

GIVEN = "given-key-" + "k" * 30


def bootstrap(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    call_command("bootstrap", "--json")
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOOTSTRAP_API_KEY", raising=False)
    monkeypatch.delenv("ADMIN_PASSWORD", raising=False)


def test_the_first_start_makes_tenant_key_and_a_login_link(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = bootstrap(capsys)

    assert made["tenant_id"] == str(Tenant.objects.get().id)
    assert ApiClient(made["api_key"]).get("/v1/me").status_code == 200
    assert "/login/" in made["login_url"]
    assert client().xinfo_groups(OUTCOME_STREAM)[0]["name"] == OUTCOME_GROUP.encode()
    entry = PeriodicTask.objects.get(name="Keep house")
    assert (entry.task, entry.queue) == ("executions.keep_house", "system")


def test_the_key_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    bootstrap(capsys)

    again = bootstrap(capsys)
    assert again["fenced"] is False

    assert again["api_key"] is None
    assert (Tenant.objects.count(), ApiKey.objects.count()) == (1, 1)
    assert get_user_model().objects.count() == 1


def test_a_given_key_is_the_owners_and_is_never_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOTSTRAP_API_KEY", GIVEN)

    first, second = bootstrap(capsys), bootstrap(capsys)

    assert (first["api_key"], second["api_key"]) == (None, None)
    assert ApiClient(GIVEN).get("/v1/me").status_code == 200
    assert ApiKey.objects.get().owner


def test_a_given_password_is_set_and_no_link_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "correct horse battery")

    made = bootstrap(capsys)

    assert made["login_url"] is None
    assert get_user_model().objects.get().check_password("correct horse battery")
