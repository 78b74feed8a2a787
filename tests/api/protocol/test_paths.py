from __future__ import annotations

import pytest
from django.test import Client

from api.protocol import paths
from tests.support.api import ApiClient

ID = "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/tasks", "/v1/tasks"),
        ("/tasks/", "/v1/tasks"),
        (f"/tasks/{ID}/pause", f"/v1/tasks/{ID}/pause"),
        ("/bulk-jobs", "/v1/bulk-jobs"),
        ("/api-keys", "/v1/api-keys"),
        ("/api/v1/tasks", "/v1/tasks"),
        ("/api/tasks", "/v1/tasks"),
        ("/V1/Tasks", "/v1/tasks"),
        ("//v1//tasks", "/v1/tasks"),
        ("/v1/tasks/", "/v1/tasks"),
        (f"/v1/tasks/{ID}/", f"/v1/tasks/{ID}"),
        ("/v1/schema", "/v1/schema/"),
        ("/schema", "/v1/schema/"),
        ("/docs/", "/v1/docs/"),
    ],
)
def test_a_path_that_differs_by_prefix_slashes_or_case_is_found(path: str, meant: str):
    assert paths.meant_by(path) == meant


@pytest.mark.parametrize("path", ["/", "", "/nowhere", "/v1", "/v1/", "/login", "/" + "x/" * 5000])
def test_what_resembles_nothing_means_nothing(path: str):
    assert paths.meant_by(path) is None
    assert paths.hint_for(path) == "GET /v1/schema/ describes every path."


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/v1/taskss", "/v1/tasks"),
        (f"/v1/tasks/{ID}/resum", "/v1/tasks/{id}/resume"),
        (f"/v1/execution/{ID}", "/v1/executions/{id}"),
    ],
)
def test_a_slip_of_the_pen_gets_the_path_that_is_nearest(path: str, near: str):
    assert paths.hint_for(path) == f"Did you mean {near}?"


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/tasks", {}),
        ("POST", "/tasks/", {}),
        ("POST", f"/tasks/{ID}/run", {}),
        ("PATCH", f"/tasks/{ID}", {}),
        ("GET", "/tasks", {"authorization": "Bearer x"}),
        ("GET", "/tasks", {"accept": "application/json"}),
        ("POST", "/tasks", {"content_type": "application/x-www-form-urlencoded"}),
        ("POST", "/v1/tasks/", {}),
        ("GET", "/v1/tasks/", {}),
    ],
)
def test_a_call_that_forgot_the_prefix_or_added_a_slash_is_told_the_path(
    db: None, method: str, path: str, headers: dict[str, str]
):
    answer = ApiClient().call(method, path, {}, **headers)

    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    problem = answer.json()
    assert (problem["code"], problem["instance"]) == ("not_found", path)
    assert problem["detail"] == f"The API has no such path. Did you mean {paths.meant_by(path)}?"


def test_pages_are_left_to_browsers(db: None):
    page = ApiClient().get("/tasks", accept="text/html,*/*;q=0.8", content_type="")

    assert (page.status_code, page.headers["Location"]) == (302, "/login?next=/tasks")


def test_the_consoles_own_scripts_are_no_programs(db: None):
    client = Client()
    client.cookies["sessionid"] = "x"

    assert client.get("/alerts", headers={"accept": "application/json"}).status_code == 302


def test_a_refused_form_token_is_a_problem_for_a_program(db: None):
    strict = Client(enforce_csrf_checks=True)

    as_program = strict.post("/login", "{}", content_type="application/json")
    as_browser = strict.post("/login", {}, headers={"accept": "text/html"})

    assert (as_program.status_code, as_program.json()["code"]) == (403, "forbidden")
    assert as_browser.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_wrong_method_is_told_the_right_ones(db: None, method: str):
    answer = ApiClient().call(method, "/v1/tasks")

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert answer.json()["detail"] == f"This path does not take {method}, only GET, HEAD, POST."
