"""An open session alone changes no password and no second factor."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.throttle import MAX_FAILURES
from tenants.models import SignIn
from tenants.services.sign_ins import SIGN_IN
from tests.dashboard.asking import messages_of
from tests.support.second_factors import code_of, enrol, sign_in

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password=PASSWORD)


@pytest.fixture
def browser_of_ann(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def said(client: Client, path: str, **fields: str) -> str:
    [message] = messages_of(client.post(path, fields, follow=True))
    return message


def test_guesses_of_the_present_password_are_slowed_down_like_those_at_sign_in(browser_of_ann):
    for _ in range(MAX_FAILURES):
        assert "wrong" in said(
            browser_of_ann, "/account/second-factor/begin", present_password="guess"
        )

    right = said(browser_of_ann, "/account/second-factor/begin", present_password=PASSWORD)
    assert "Too many failed tries" in right
    refused = Client().post("/login", {"username": "ann", "password": PASSWORD})
    assert refused.status_code == 429


def test_a_very_long_password_is_wrong_without_being_hashed(browser_of_ann, monkeypatch):
    monkeypatch.setattr(User, "check_password", lambda *_: pytest.fail("hashed"))

    assert "wrong" in said(
        browser_of_ann, "/account/second-factor/begin", present_password="x" * 5000
    )


def test_guesses_of_the_code_are_slowed_down(ann):
    secret, _ = enrol(ann)
    client = sign_in(ann, PASSWORD, secret)
    for _ in range(MAX_FAILURES):
        assert "wrong" in said(client, "/account/second-factor/codes", code="000000")

    assert "Too many" in said(client, "/account/second-factor/codes", code=code_of(ann, secret))


def test_an_account_without_a_password_needs_a_fresh_sign_in(ann, browser_of_ann):
    ann.set_unusable_password()
    ann.save()
    browser_of_ann.force_login(ann)
    SignIn.objects.update(began_at=timezone.now() - timedelta(minutes=16))

    message = said(browser_of_ann, "/account/second-factor/begin")

    assert message == "Sign in again by a new one-time link first."
    browser_of_ann.force_login(ann)
    assert "Scan" in said(browser_of_ann, "/account/second-factor/begin")


def test_a_session_from_before_the_upgrade_is_no_fresh_proof_for_an_account_without_a_password(db):
    user = User.objects.create_user("bob")
    client = Client()
    client.force_login(user)
    session = client.session
    del session[SIGN_IN]
    session.save()
    SignIn.objects.all().delete()

    assert "Sign in again" in said(client, "/account/second-factor/begin")
