"""Signing in and out."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.throttle import MAX_FAILURES
from tenants.models import SecondFactor
from tenants.services.second_factors import MOST_TRIES
from tests.support.second_factors import code_of, enrol

RIGHT = {"username": "ann", "password": "a long password"}


@pytest.fixture
def ann(db):
    return User.objects.create_user(**RIGHT)


def test_the_right_password_signs_in_and_leads_on(client, ann):
    answer = client.post("/login", {**RIGHT, "next": "/executions"})

    assert answer.url == "/executions"
    assert client.session["_auth_user_id"] == str(ann.pk)


def test_a_wrong_password_says_no_more_than_that(client, ann):
    wrong_password = client.post("/login", {**RIGHT, "password": "wrong"})
    no_such_user = client.post("/login", {**RIGHT, "username": "nobody"})

    for answer in (wrong_password, no_such_user):
        assert "That name and password do not belong together." in answer.text
    assert "_auth_user_id" not in client.session


def test_after_too_many_failures_even_the_right_password_waits(client, ann):
    for _ in range(MAX_FAILURES):
        client.post("/login", {**RIGHT, "password": "wrong"})

    answer = client.post("/login", RIGHT)

    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert "_auth_user_id" not in client.session


def test_failures_from_another_address_do_not_keep_the_right_password_out(client, ann):
    for _ in range(MAX_FAILURES * 2):
        client.post("/login", {**RIGHT, "password": "wrong"}, REMOTE_ADDR="203.0.113.9")

    assert client.post("/login", RIGHT, REMOTE_ADDR="203.0.113.9").status_code == 429
    assert client.post("/login", RIGHT, REMOTE_ADDR="192.0.2.1").url == "/"


def test_failures_of_other_names_do_not_keep_the_right_password_out(client, ann):
    for number in range(MAX_FAILURES * 2):
        client.post("/login", {"username": f"user{number}", "password": "wrong"})

    assert client.post("/login", RIGHT).url == "/"


@pytest.mark.parametrize("name", ["ANN", " ann ", "\uff41nn", "\u2003ann"])
def test_another_spelling_of_the_name_counts_as_the_same_account(client, ann, name):
    for _ in range(MAX_FAILURES):
        client.post("/login", {"username": name, "password": "wrong"})

    assert client.post("/login", RIGHT).status_code == 429


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_forged_address_evades_no_count(client, ann, header):
    for number in range(MAX_FAILURES):
        wrong = {**RIGHT, "password": "wrong"}
        client.post("/login", wrong, headers={header: f"192.0.2.{number}"})

    assert client.post("/login", RIGHT, headers={header: "198.51.100.1"}).status_code == 429


def test_nobody_is_sent_to_another_site_after_the_login(client, ann):
    answer = client.post("/login", {**RIGHT, "next": "https://evil.example/"})

    assert answer.url == "/"


def test_the_admin_has_no_login_of_its_own(client, db):
    answer = client.get("/admin/login/?next=/admin/")

    assert answer.url == "/login?next=/admin/"


def test_signing_out_ends_the_session(client, ann):
    client.force_login(ann)

    answer = client.post("/logout")

    assert answer.url == "/login"
    assert "_auth_user_id" not in client.session


def test_a_link_cannot_sign_anybody_out(client, ann):
    client.force_login(ann)

    assert client.get("/logout").status_code == 405


def test_a_page_learns_whether_its_session_is_still_there(browser, alpha, client):
    assert browser(alpha).get("/pulse").status_code == 204
    assert client.get("/pulse").url == "/login?next=/pulse"


def test_after_too_many_wrong_codes_even_the_right_one_waits(client, ann):
    secret, codes = enrol(ann)
    client.post("/login", RIGHT)
    for _ in range(MAX_FAILURES):
        assert client.post("/login/code", {"code": "000000"}).status_code == 200

    for code in (code_of(ann, secret), codes[0]):
        answer = client.post("/login/code", {"code": code})
        assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert "_auth_user_id" not in client.session


def test_the_right_password_does_not_begin_the_count_of_codes_anew(client, ann):
    secret, _ = enrol(ann)
    client.post("/login", RIGHT)
    for _ in range(MAX_FAILURES):
        client.post("/login/code", {"code": "000000"})
        client.post("/login", RIGHT)

    assert client.post("/login/code", {"code": code_of(ann, secret)}).status_code == 429


def test_wrong_codes_from_many_addresses_are_limited_for_the_account(ann):
    secret, _ = enrol(ann)
    SecondFactor.objects.update(tries=MOST_TRIES, tries_since=timezone.now())
    elsewhere = Client(REMOTE_ADDR="203.0.113.77")
    elsewhere.post("/login", RIGHT)

    assert elsewhere.post("/login/code", {"code": code_of(ann, secret)}).status_code == 429


def test_a_code_signs_in_one_browser(ann):
    secret, _ = enrol(ann)
    first, second = Client(), Client()
    for one in (first, second):
        one.post("/login", RIGHT)
    code = code_of(ann, secret)

    assert first.post("/login/code", {"code": code}).status_code == 302
    assert second.post("/login/code", {"code": code}).status_code == 200


def test_no_code_leads_to_another_site(client, ann):
    _, codes = enrol(ann)
    client.post("/login", RIGHT)

    answer = client.post("/login/code", {"code": codes[0], "next": "https://evil.example/"})

    assert answer.url == "/"
