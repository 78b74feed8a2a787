"""``bootstrap`` prepares a new installation, and changes nothing that is there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django_celery_beat.models import PeriodicTask

from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from tenants.models import ApiKey, SignIn, Tenant
from tenants.services.sign_ins import begin_sign_in
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


@pytest.mark.parametrize("weak", ["abc12", "password1", "1029384756102938"])
def test_a_weak_password_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, weak: str
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", weak)

    with pytest.raises(CommandError, match="ADMIN_PASSWORD is refused: ") as refused:
        bootstrap(capsys)

    assert weak not in str(refused.value)
    assert not get_user_model().objects.exists()


def test_an_installation_with_a_weak_password_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(capsys)
    admin = get_user_model().objects.get()
    admin.set_password("short")
    admin.save()
    monkeypatch.setenv("ADMIN_PASSWORD", "short")

    assert bootstrap(capsys)["login_url"] is None


def test_a_new_password_ends_the_sessions_of_the_old_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(capsys)
    begin_sign_in(get_user_model().objects.get().pk, address="", user_agent="")
    monkeypatch.setenv("ADMIN_PASSWORD", "correct horse battery")

    bootstrap(capsys)

    assert SignIn.objects.get().ended_by == "password"


def test_the_link_is_not_printed_where_output_is_collected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("bootstrap")

    assert "/login/" not in capsys.readouterr().out
