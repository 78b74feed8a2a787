"""The one-time login link logs in once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils import timezone

from dashboard import one_time_login
from dashboard.one_time_login import login_path
from tests.support.second_factors import code_of, enrol

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("admin")


def test_the_link_leads_to_the_console(client: Client, admin: User) -> None:
    answer = client.get(login_path(admin))

    assert answer.url == "/"  # type: ignore[attr-defined]  # a redirect
    assert client.session["_auth_user_id"] == str(admin.pk)


def test_the_link_works_once(client: Client, admin: User) -> None:
    link = login_path(admin)
    client.get(link)

    other = Client()
    answer = other.get(link)

    assert answer.url == "/login"  # type: ignore[attr-defined]  # a redirect
    assert "_auth_user_id" not in other.session


def test_a_made_up_link_logs_nobody_in(client: Client, admin: User) -> None:
    answer = client.get(f"/login/{admin.pk}/abc-def")

    assert answer.url == "/login"  # type: ignore[attr-defined]  # a redirect
    assert "_auth_user_id" not in client.session


def test_the_link_lasts_fifteen_minutes(client: Client, admin: User) -> None:
    link = login_path(admin)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=15, seconds=2)):
        answer = client.get(link)

    assert answer.url == "/login"  # type: ignore[attr-defined]  # a redirect


def test_of_two_uses_at_once_one_signs_in(
    client: Client, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = login_path(admin)
    real = one_time_login._use_up

    def other_first(user: User) -> bool:
        monkeypatch.setattr(one_time_login, "_use_up", real)
        assert client.get(link).url == "/"  # type: ignore[attr-defined]  # a redirect
        return real(user)

    monkeypatch.setattr(one_time_login, "_use_up", other_first)

    assert Client().get(link).url == "/login"  # type: ignore[attr-defined]  # a redirect


def test_a_link_made_and_used_within_the_second_of_the_last_login_works_once(
    client: Client, admin: User
) -> None:
    admin.last_login = timezone.now().replace(microsecond=0)
    admin.save()
    link = login_path(admin)
    with time_machine.travel(admin.last_login + timedelta(milliseconds=500), tick=False):
        client.get(link)

        assert Client().get(link).url == "/login"  # type: ignore[attr-defined]  # a redirect


def test_the_link_does_not_take_the_place_of_the_second_factor(client: Client, admin: User) -> None:
    secret, _ = enrol(admin)

    answer = client.get(login_path(admin))

    assert answer.url == "/login/code"  # type: ignore[attr-defined]  # a redirect
    assert client.get("/admin/").status_code == 302
    assert client.post("/login/code", {"code": code_of(admin, secret)}).url == "/"  # type: ignore[attr-defined]  # a redirect


def test_a_token_of_djangos_own_password_reset_is_no_link(client: Client, admin: User) -> None:
    token = default_token_generator.make_token(admin)

    assert client.get(f"/login/{admin.pk}/{token}").url == "/login"  # type: ignore[attr-defined]  # a redirect
