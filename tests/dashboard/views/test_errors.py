"""Addresses that lead nowhere and unexpected errors: in the frame, with a way on."""

from __future__ import annotations

import pytest

from dashboard.views import overview

FRAME = 'aria-label="Main"'


def test_an_unknown_address_keeps_the_frame_and_offers_the_search(browser, alpha):
    answer = browser(alpha).get("/taks")

    assert answer.status_code == 404
    assert FRAME in answer.text
    assert 'action="/search"' in answer.text
    assert answer["X-Trace-Id"] in answer.text


@pytest.mark.parametrize("path", ["/taks", "/v1/nowhere"])
def test_an_unknown_address_tells_a_stranger_nothing_more(client, db, path):
    answer = client.get(path, headers={"accept": "text/html"})

    assert answer.status_code == 404
    assert FRAME not in answer.text


def test_a_member_of_no_tenant_sees_the_plain_page(browser, db):
    answer = browser().get("/taks")

    assert answer.status_code == 404
    assert FRAME not in answer.text
    assert "There is no such page" in answer.text


@pytest.fixture
def broken(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("a bug")

    monkeypatch.setattr(overview, "render", fail)


def test_an_unexpected_error_keeps_the_frame_and_names_its_trace(browser, alpha, broken):
    client = browser(alpha)
    client.raise_request_exception = False

    answer = client.get("/")

    assert answer.status_code == 500
    assert FRAME in answer.text
    assert answer["X-Trace-Id"] in answer.text
    assert "a bug" not in answer.text


@pytest.mark.logs("console.frame_of_error", path="/", reason="ZeroDivisionError")
def test_an_error_that_breaks_the_frame_as_well_has_the_plain_page(
    browser, alpha, broken, monkeypatch
):
    client = browser(alpha)
    client.raise_request_exception = False
    monkeypatch.setattr("dashboard.context._open_letters", lambda request: 1 / 0)

    answer = client.get("/")

    assert answer.status_code == 500
    assert FRAME not in answer.text
    assert "Something went wrong here" in answer.text
    assert answer["X-Trace-Id"] in answer.text
