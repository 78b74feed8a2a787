"""Requests are counted by the names of routes, never by what a caller writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from api.protocol.request_counts import HELD_BACK, RequestCountMiddleware
from shared import web_counts
from tests.factories import make_client, make_tenant
from tests.support.web_counts import counts_of_their_own

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _counts_of_their_own() -> Iterator[None]:
    with counts_of_their_own():
        yield


def operations() -> dict[tuple[str, ...], int]:
    return {name[1:]: number for name, number in web_counts.read().items() if name[0] == "requests"}


def areas() -> set[str]:
    return {name[1] for name in web_counts.read() if name[0] == "seconds"}


def test_a_call_is_counted_by_its_operation_method_and_status():
    caller = make_client(make_tenant("Alpha"))
    caller.get("/v1/tasks")
    caller.get("/v1/tasks")
    caller.get("/v1/tasks/00000000-0000-0000-0000-000000000000")
    Client().get("/v1/tasks")

    assert operations() == {
        ("tasks", "GET", "2xx"): 2,
        ("task", "GET", "4xx"): 1,
        ("tasks", "GET", "4xx"): 1,
    }
    assert areas() == {"api"}


def test_pages_and_the_admin_are_areas_of_their_own():
    browser = Client()
    browser.get("/login")
    browser.get("/admin/tasks/task/")
    browser.get("/healthz")

    assert areas() == {"console", "admin", "other"}
    assert ("console:login", "GET", "2xx") in operations()
    assert ("admin", "GET", "3xx") in operations()


def test_paths_that_callers_invent_are_one_operation():
    for number in range(20):
        Client().get(f"/v1/nothing/{number}")
        Client().get(f"/nothing/{number}")

    assert operations() == {("none", "GET", "4xx"): 40}


def test_an_answer_outside_of_the_views_is_counted_too():
    Client().get("/v1/tasks", headers={"host": "attacker.example"})

    assert sum(operations().values()) == 1


def test_a_call_that_may_be_made_again_is_counted_by_who_sends_its_answer():
    held_back: list[Callable[[], None]] = []
    request: Any = RequestFactory().get("/v1/tasks")
    request.scope = {HELD_BACK: held_back}

    RequestCountMiddleware(lambda _: HttpResponse())(request)

    assert operations() == {}
    held_back[0]()
    assert operations() == {("none", "GET", "2xx"): 1}
