"""Enrolment by QR code, recovery codes shown once, removal with both proofs."""

from __future__ import annotations

import re
import time

import pyotp
import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.models import Membership, SecondFactor, SignIn, Tenant
from tenants.services.second_factors import has_second_factor, pending_secret
from tests.dashboard.asking import messages_of
from tests.support.second_factors import code_of, enrol, sign_in

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
PAGE = "/account/second-factor"


@pytest.fixture
def ann(alpha: Tenant) -> User:
    user = User.objects.create_user("ann", password=PASSWORD)
    Membership.objects.create(user=user, tenant=alpha, role="viewer")
    return user


@pytest.fixture
def browser_of_ann(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def said(client: Client, path: str, **fields: str) -> str:
    return messages_of(client.post(path, fields, follow=True))[-1]


def begun(client: Client, user: User) -> str:
    client.post(f"{PAGE}/begin", {"present_password": PASSWORD})
    secret = pending_secret(user.pk)
    assert secret
    return secret


def test_a_person_enrols_and_signs_in_with_a_code_from_then_on(ann, browser_of_ann):
    secret = begun(browser_of_ann, ann)
    moment = int(time.time()) - 30
    answer = browser_of_ann.post(
        f"{PAGE}/confirm", {"code": pyotp.TOTP(secret).at(moment), "present_password": PASSWORD}
    )

    codes = re.findall(r"<code>([a-z2-9-]{19})</code>", answer.text)
    assert len(codes) == 10
    assert answer["Cache-Control"] == "no-store"
    assert browser_of_ann.get("/pulse").status_code == 204
    assert sign_in(ann, PASSWORD, secret).get("/pulse").status_code == 204
    assert not any(code in browser_of_ann.get(PAGE).text for code in codes)


def test_beginning_needs_the_present_password(ann, browser_of_ann):
    message = said(browser_of_ann, f"{PAGE}/begin", present_password="guess")

    assert message == "The present password is wrong."
    assert not SecondFactor.objects.exists()


def test_the_page_draws_the_code_within_itself_and_fits_the_policy(ann, browser_of_ann):
    begun(browser_of_ann, ann)

    page = browser_of_ann.get(PAGE)

    assert "<svg" in page.text
    drawn = page.text[page.text.index('<div class="qr">') :].split("</div>")[0]
    assert "style=" not in drawn
    assert "href" not in drawn
    assert "data:" not in drawn
    assert "unsafe" not in page["Content-Security-Policy"]


def test_the_secret_is_not_shown_after_it_is_confirmed(ann, browser_of_ann):
    secret = begun(browser_of_ann, ann)
    browser_of_ann.post(
        f"{PAGE}/confirm", {"code": pyotp.TOTP(secret).now(), "present_password": PASSWORD}
    )

    page = browser_of_ann.get(PAGE)

    assert secret[:4] not in re.sub(r"csrfmiddlewaretoken\S+ \S+", "", page.text)
    assert '<div class="qr">' not in page.text
    assert said(browser_of_ann, f"{PAGE}/begin", present_password=PASSWORD).startswith(
        "This account has a second factor already."
    )


def test_a_wrong_code_turns_nothing_on(ann, browser_of_ann):
    begun(browser_of_ann, ann)

    assert "wrong" in said(
        browser_of_ann, f"{PAGE}/confirm", code="000000", present_password=PASSWORD
    )

    assert not has_second_factor(ann.pk)


def test_confirming_renews_the_session_and_ends_the_others(ann, browser_of_ann):
    other = Client()
    other.force_login(ann)
    before = browser_of_ann.session.session_key
    secret = begun(browser_of_ann, ann)

    browser_of_ann.post(
        f"{PAGE}/confirm", {"code": pyotp.TOTP(secret).now(), "present_password": PASSWORD}
    )

    assert browser_of_ann.session.session_key != before
    assert other.get("/pulse").status_code == 302
    assert SignIn.objects.filter(ended_by="factor").exists()


def test_a_session_without_the_password_neither_sees_the_secret_nor_finishes(ann, browser_of_ann):
    stolen = Client()
    stolen.force_login(ann)
    secret = begun(browser_of_ann, ann)

    assert '<div class="qr">' in browser_of_ann.get(PAGE).text
    assert '<div class="qr">' not in stolen.get(PAGE).text
    for client in (stolen, browser_of_ann):
        message = said(client, f"{PAGE}/confirm", code=pyotp.TOTP(secret).now())
        assert message == "The present password is wrong."
    assert not has_second_factor(ann.pk)


def test_a_copy_of_the_cookie_from_before_the_begin_is_of_no_session(ann, browser_of_ann):
    copy = Client()
    copy.cookies = browser_of_ann.cookies.copy()
    begun(browser_of_ann, ann)

    assert copy.get(PAGE).status_code == 302
    assert browser_of_ann.get(PAGE).status_code == 200


def test_new_recovery_codes_need_a_code(ann):
    secret, old = enrol(ann)
    client = sign_in(ann, PASSWORD, secret)
    assert "wrong" in said(client, f"{PAGE}/codes", code="000000")

    answer = client.post(f"{PAGE}/codes", {"code": old[0]})

    codes = re.findall(r"<code>([a-z2-9-]{19})</code>", answer.text)
    assert len(codes) == 10
    assert not set(codes) & set(old)


@pytest.mark.parametrize("lacks", ["present_password", "code"])
def test_removing_needs_password_and_code(ann, lacks):
    secret, codes = enrol(ann)
    client = sign_in(ann, PASSWORD, secret)
    form = {"present_password": PASSWORD, "code": codes[0]}

    assert "wrong" in said(client, f"{PAGE}/remove", **{**form, lacks: "x"})

    assert has_second_factor(ann.pk)


def test_a_person_removes_the_second_factor(ann):
    secret, codes = enrol(ann)
    client = sign_in(ann, PASSWORD, secret)

    message = said(client, f"{PAGE}/remove", present_password=PASSWORD, code=codes[0])

    assert message == "The second factor is removed. Sign-in asks for the password only."
    assert client.get("/pulse").status_code == 204
    assert Client().post("/login", {"username": "ann", "password": PASSWORD}).url == "/"  # type: ignore[attr-defined]  # a redirect


def test_a_person_who_must_enrol_does_and_goes_on(ann, browser_of_ann, alpha):
    Tenant.objects.update(second_factor_required=True)
    assert browser_of_ann.get("/").url == PAGE
    secret = begun(browser_of_ann, ann)

    browser_of_ann.post(
        f"{PAGE}/confirm", {"code": pyotp.TOTP(secret).now(), "present_password": PASSWORD}
    )

    assert browser_of_ann.get("/").status_code == 200


def test_where_a_tenant_requires_it_it_cannot_be_removed(ann, alpha):
    secret, codes = enrol(ann)
    client = sign_in(ann, PASSWORD, secret)
    Tenant.objects.update(second_factor_required=True)

    message = said(client, f"{PAGE}/remove", present_password=PASSWORD, code=codes[0])

    assert message.startswith("A tenant of yours requires a second factor.")
    assert has_second_factor(ann.pk)
    assert code_of(ann, secret)
