from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.views.invitations import COOKIE
from tenants.models import Membership
from tests.support.invitations import ADDRESS, PASSWORD, invited
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db
_BOTH = {"password": PASSWORD, "password_again": PASSWORD}


def opened(tenant, client=None, **offer):
    """Return a browser that has opened the link of an invitation."""
    client = client or Client()
    _, token = invited(tenant, **offer)
    client.get(f"/invitations/{token}")
    return client


def signed_in(name, email):
    client = Client()
    client.force_login(User.objects.create_user(name, email=email))
    return client


def test_the_link_leads_to_an_address_without_the_token(alpha):
    _, token = invited(alpha)
    client = Client()

    answer = client.get(f"/invitations/{token}")

    assert (answer.status_code, answer["Location"]) == (302, "/invitations")
    assert answer["Referrer-Policy"] == "strict-origin"
    assert "no-store" in answer["Cache-Control"]
    cookie = answer.cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (
        True,
        "Lax",
        "/invitations",
    )
    page = client.get("/invitations")
    assert token not in page.text
    assert page["Referrer-Policy"] == "strict-origin"


def test_opening_the_link_changes_nothing_and_shows_tenant_and_role(alpha):
    page = opened(alpha, role="admin").get("/invitations")

    assert "Join Alpha" in page.text
    assert "as admin" in page.text
    assert ADDRESS in page.text
    assert not Membership.objects.exists()
    assert not User.objects.exists()


def test_a_new_person_sets_a_password_and_is_signed_in(alpha):
    client = opened(alpha)

    answer = client.post("/invitations", _BOTH, follow=True)

    assert "You are a member of Alpha now." in answer.text
    assert User.objects.get().check_password(PASSWORD)
    assert client.get("/invitations").status_code == 404


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({**_BOTH, "password_again": "other"}, "The two passwords differ."),
        ({"password": "short", "password_again": "short"}, "too short"),
        ({}, "too short"),
    ],
)
def test_a_bad_password_is_refused_with_the_reason(alpha, form, said):
    answer = opened(alpha).post("/invitations", form)

    assert answer.status_code == 400
    assert said in answer.text
    assert not User.objects.exists()


def test_an_account_of_the_address_signs_in_and_accepts(alpha):
    client = opened(alpha)
    user = User.objects.create_user("ada", email=ADDRESS)

    asked = client.get("/invitations")
    assert "/login?next=/invitations" in asked.text
    refused = client.post("/invitations", _BOTH)
    assert refused.status_code == 409
    client.force_login(user)
    answer = client.post("/invitations", follow=True)

    assert "You are a member of Alpha now." in answer.text
    assert Membership.objects.get().user == user


def test_another_account_is_told_to_sign_out(alpha):
    client = opened(alpha, signed_in("eve", "eve@example.com"))

    assert "which has another address" in client.get("/invitations").text
    assert client.post("/invitations", _BOTH).status_code == 403
    assert not Membership.objects.exists()


def test_a_form_of_another_site_accepts_nothing(alpha):
    client = opened(alpha, Client(enforce_csrf_checks=True))

    answer = client.post("/invitations", _BOTH, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert not User.objects.exists()


@pytest.mark.parametrize("token", ["made-up", "x" * 3000])
def test_a_made_up_link_says_what_to_do(alpha, token):
    client = Client()
    client.get(f"/invitations/{token}")

    page = client.get("/invitations")

    assert page.status_code == 404
    assert "Ask for a new one" in page.text


@pytest.mark.parametrize("token", ["%E6%BC%A2", "a%0Ab", "a%3Bb", "%00"])
def test_a_link_that_cannot_be_of_an_invitation_is_refused_without_a_cookie(db, token):
    answer = Client().get(f"/invitations/{token}")

    assert answer.status_code == 404
    assert COOKIE not in answer.cookies


def test_without_a_link_there_is_nothing_to_accept(db):
    assert Client().get("/invitations").status_code == 404
    assert Client().put("/invitations").status_code == 405


def test_nobody_joins_a_suspended_tenant(alpha):
    client = opened(alpha)
    suspend(alpha)

    assert client.get("/invitations").status_code == 403
    assert client.post("/invitations", _BOTH).status_code == 403
    assert not User.objects.exists()
