"""Between password and code no person is signed in, and the wait ends by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client

from tenants.models import Membership, SignIn, Tenant
from tests.support.second_factors import code_of, enrol

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"


@pytest.fixture
def ann(alpha: Tenant) -> User:
    user = User.objects.create_superuser("ann", password=PASSWORD)
    Membership.objects.create(user=user, tenant=alpha, role="owner")
    return user


@pytest.fixture
def waiting(ann: User) -> tuple[Client, str]:
    """Return a browser that has given the password, and the secret of the app."""
    secret, _ = enrol(ann)
    client = Client()
    answer = client.post("/login", {"username": "ann", "password": PASSWORD, "next": "/tasks"})
    assert answer.url == "/login/code?next=%2Ftasks"  # type: ignore[attr-defined]  # a redirect
    return client, secret


@pytest.mark.parametrize("path", ["/", "/tasks", "/account", "/admin/", "/pulse"])
def test_the_password_alone_reaches_no_page(waiting, path):
    client, _ = waiting

    assert "/login" in client.get(path).url
    assert not SignIn.objects.filter(ended_at=None).exists()


def test_the_code_signs_in_and_leads_on(ann, waiting):
    client, secret = waiting

    answer = client.post("/login/code", {"code": code_of(ann, secret), "next": "/tasks"})

    assert answer.url == "/tasks"
    assert client.get("/pulse").status_code == 204
    assert client.get("/admin/").status_code == 200
    assert SignIn.objects.get(ended_at=None).by_factor


def test_the_id_of_the_session_changes_at_both_steps(ann, waiting):
    client, secret = waiting
    before = client.session.session_key

    client.post("/login/code", {"code": code_of(ann, secret)})

    assert client.session.session_key != before


def test_the_wait_for_the_code_ends_after_five_minutes(ann, waiting):
    client, secret = waiting
    code = code_of(ann, secret)

    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=301)):
        answer = client.post("/login/code", {"code": code})

    assert answer.url == "/login"
    assert client.get("/pulse").status_code == 302


@pytest.mark.parametrize("change", ["password", "is_active"])
def test_a_changed_password_or_account_ends_the_wait(ann, waiting, change):
    client, secret = waiting
    if change == "password":
        ann.set_password("another long password")
    else:
        ann.is_active = False
    ann.save()

    assert client.post("/login/code", {"code": code_of(ann, secret)}).url == "/login"


def test_a_code_without_a_password_signs_nobody_in(ann):
    _secret, codes = enrol(ann)
    client = Client()

    assert client.post("/login/code", {"code": codes[0]}).url == "/login"  # type: ignore[attr-defined]  # a redirect
    assert client.get("/login/code").url == "/login"  # type: ignore[attr-defined]  # a redirect
