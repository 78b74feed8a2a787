from __future__ import annotations

import pytest
from rest_framework.exceptions import ErrorDetail

from api.protocol.problems import Problem, field_errors, problem_of, problem_of_status
from shared.exceptions import FieldError
from tests.support.api import ApiClient

pytestmark = pytest.mark.urls("tests.api.protocol.probe")

ANSWERS = [
    ("not_found", 404, "not_found", {}),
    ("conflict", 409, "already_running", {}),
    ("invalid", 400, "invalid", {}),
    ("unavailable", 503, "unavailable", {"Retry-After": "1"}),
    ("quota", 429, "quota_exceeded", {"Retry-After": "1"}),
    ("http404", 404, "not_found", {}),
    ("denied", 403, "forbidden", {}),
    ("bad", 400, "bad_request", {}),
    ("too_big", 413, "too_large", {}),
    ("throttled", 429, "rate_limited", {"Retry-After": "7"}),
    ("database", 503, "unavailable", {"Retry-After": "1"}),
    ("interface", 503, "unavailable", {"Retry-After": "1"}),
    ("redis", 503, "unavailable", {"Retry-After": "1"}),
    ("broker", 503, "unavailable", {"Retry-After": "1"}),
    ("data", 400, "bad_request", {}),
    ("django_validation", 400, "bad_request", {}),
    ("bug", 500, "internal", {}),
    ("sealed", 500, "internal", {}),
]


@pytest.mark.parametrize("door", ["errors", "plain"])
@pytest.mark.parametrize(("name", "status", "code", "headers"), ANSWERS)
def test_every_error_is_a_problem_without_internals(door, name, status, code, headers):
    response = ApiClient().get(f"/v1/{door}/{name}")

    body = response.json()
    assert (response.status_code, body["status"], body["code"]) == (status, status, code)
    assert response.headers["Content-Type"] == "application/problem+json"
    assert body["type"] == f"/problems/{code}"
    assert body["instance"] == f"/v1/{door}/{name}"
    assert body["trace_id"] == response.headers["X-Trace-Id"]
    assert headers.items() <= dict(response.headers).items()
    assert "secret" not in response.content.decode()


def test_field_errors_are_listed_with_pointer_code_and_message():
    response = ApiClient().get("/v1/errors/invalid")

    assert response.json()["errors"] == [
        {"pointer": "#/name", "code": "too_long", "message": "Too long."}
    ]


def test_what_is_unexpected_is_logged_in_full_under_the_trace_id(json_lines):
    response = ApiClient().get("/v1/errors/bug")

    (line,) = [one for one in json_lines() if one["logger"] == "api.protocol.problems"]
    assert (line["event"], line["path"]) == ("request.crashed", "/v1/errors/bug")
    assert line["trace_id"] == response.headers["X-Trace-Id"]
    assert "ZeroDivisionError" in line["exception"]


@pytest.mark.logs("request.value_refused", path="/v1/errors/data")
def test_a_value_that_only_the_database_refuses_is_logged():
    assert ApiClient().get("/v1/errors/data").status_code == 400


def test_nested_details_of_rest_framework_become_pointers():
    detail = {
        "a": [ErrorDetail("first", "x"), ErrorDetail("second", "y")],
        "b": [{}, {"c": [ErrorDetail("third", "z")]}],
        "d": {"0": [ErrorDetail("fourth", "w")]},
        "non_field_errors": [ErrorDetail("fifth", "v")],
    }

    assert list(field_errors(detail)) == [
        FieldError("#/a", "x", "first"),
        FieldError("#/a", "y", "second"),
        FieldError("#/b/1/c", "z", "third"),
        FieldError("#/d/0", "w", "fourth"),
        FieldError("#", "v", "fifth"),
    ]


def test_a_bare_status_still_has_a_code_and_a_sentence():
    assert problem_of_status(405).code == "method_not_allowed"
    assert problem_of_status(418).code == "bad_request"
    assert problem_of_status(502).code == "internal"
    assert problem_of(KeyError("secret")).status == 500


def test_the_path_of_a_cycle_stands_in_its_error_and_in_no_other():
    errors = (FieldError("#/steps", "workflow_cycle", "A cycle.", ("a", "b", "a")),)

    [cycle] = Problem(400, "invalid", "", errors).body(None)["errors"]
    [other] = Problem(400, "invalid", "", (FieldError("#/a", "x", "y"),)).body(None)["errors"]

    assert cycle["path"] == ["a", "b", "a"]
    assert other.keys() == {"pointer", "code", "message"}
