"""The policy stands on every page, and the API is not compressed."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from dashboard.middleware import POLICY
from dashboard.one_time_login import login_path


@pytest.mark.parametrize("path", ["/login", "/v1/docs/", "/admin/", "/no-such-page"])
def test_every_page_has_the_policy(client, db, path):
    assert client.get(path)["Content-Security-Policy"] == POLICY


def test_the_policy_allows_nothing_inline_and_no_other_host():
    assert "unsafe" not in POLICY
    assert not any(scheme in POLICY for scheme in ("http:", "https:", "*"))


def test_pages_are_compressed_and_the_api_is_not(client, db):
    headers = {"HTTP_ACCEPT_ENCODING": "gzip"}

    assert client.get("/login", **headers)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/v1/me", **headers)


def test_a_file_that_is_the_same_for_all_is_as_long_each_time(client, db):
    lengths = {
        len(b"".join(client.get("/static/js/live.js", HTTP_ACCEPT_ENCODING="gzip")))
        for _ in range(20)
    }

    assert len(lengths) == 1


def _away(*_: object, **__: object) -> None:
    raise OperationalError("the server closed the connection unexpectedly")


@pytest.mark.parametrize(
    ("where", "method", "path"),
    [
        ("dashboard.views.session.SignIn.form_valid", "post", "/login"),
        ("dashboard.views.invitations.find_invitation", "get", "/invitations"),
        ("dashboard.one_time_login._use_up", "get", "LINK"),
    ],
)
@pytest.mark.logs("page.without_server")
def test_pages_without_a_session_say_that_the_database_is_away(
    client, db, monkeypatch, where, method, path
):
    user = User.objects.create_user("ann", password="a long password")
    monkeypatch.setattr(where, _away)
    path = login_path(user) if path == "LINK" else path
    client.raise_request_exception = False

    typed = {"username": "ann", "password": "a long password"}
    answer = getattr(client, method)(path, typed, headers={"Accept": "text/html"})

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Back in a moment" in answer.text


def test_a_bug_stays_a_bug(client, db, monkeypatch):
    monkeypatch.setattr("dashboard.views.invitations.find_invitation", lambda token: 1 / 0)
    client.raise_request_exception = False

    assert client.get("/invitations").status_code == 500
