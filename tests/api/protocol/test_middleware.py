from __future__ import annotations

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import OperationalError
from django.test import Client

from tests.support.api import ApiClient

pytestmark = pytest.mark.urls("tests.api.protocol.probe")

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_every_answer_has_a_trace_id_of_its_own():
    client = ApiClient()

    first, second = client.get("/v1/body"), client.get("/nowhere")

    assert len(first.headers["X-Trace-Id"]) == 32
    assert first.headers["X-Trace-Id"] != second.headers["X-Trace-Id"]


def test_the_callers_trace_is_continued():
    response = ApiClient().get("/v1/body", traceparent=f"00-{TRACE}-00f067aa0ba902b7-01")

    assert response.headers["X-Trace-Id"] == TRACE


def test_an_unknown_path_of_the_api_is_a_problem():
    response = ApiClient().get("/v1/nowhere")

    assert response.status_code == 404
    assert response.json()["code"] == "not_found"
    assert response.headers["Content-Type"] == "application/problem+json"


def test_other_paths_are_problems_only_for_programs():
    as_program = ApiClient().get("/nowhere", accept="application/json")
    as_browser = ApiClient().get("/nowhere", accept="text/html,application/json;q=0.9")

    assert as_program.json()["code"] == "not_found"
    assert as_browser.headers["Content-Type"].startswith("text/html")


def test_a_page_that_fails_is_left_to_django():
    assert ApiClient().get("/page/bug", accept="text/html").status_code == 500
    assert ApiClient().get("/page/bug", accept="application/json").json()["code"] == "internal"


def test_a_foreign_host_is_a_bad_request_without_internals():
    response = ApiClient().get("/v1/body", host="evil.example")

    assert response.status_code == 400
    assert response.json()["code"] == "bad_request"
    assert "evil" not in response.content.decode()


def test_a_database_that_is_away_in_an_inner_middleware_is_503(monkeypatch):
    def away(self, request):
        raise OperationalError("secret")

    monkeypatch.setattr(SessionMiddleware, "process_request", away)

    response = ApiClient().get("/v1/body")

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"
    assert response.json()["code"] == "unavailable"


def test_a_bad_escape_in_the_path_is_not_found():
    for path in ("/v1/%ff%fe", "/v1/%00", "/v1/%ed%a0%80", "/v1/..%2f..%2fetc"):
        assert Client(raise_request_exception=False).get(path).status_code == 404


def test_a_bad_escape_in_the_query_is_a_bad_request():
    assert ApiClient().get("/v1/body?type=%ff%00").status_code == 400
