"""The one-time login link logs in once."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.one_time_login import login_path

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
