"""No route of the site is outside of the tables of access, and no path takes another method."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from tenants.models import Membership
from tests.access.console_rights import ALL, OPEN
from tests.access.open_routes import ROUTES
from tests.access.operations import BY_TOKEN, OPERATIONS, Operation
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, undone
from tests.support.api import ApiClient

pytestmark = pytest.mark.django_db

_METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
_ALL = [one for one in (*OPERATIONS, *BY_TOKEN) if "?" not in one.call]


def _bare(path: str) -> str:
    """Return the path without the names of its parameters."""
    return re.sub(r"\{\w+\}", "{}", path)


#: One path of each kind, and the calls that the document has.
_PATHS = sorted({_bare(one.call.split()[1]): one.call.split()[1] for one in _ALL}.values())
_NAMED = {_bare(one.call) for one in _ALL}
_READ = list({_bare(one.call): one for one in _ALL if one.method == "GET"}.values())


def _routes(patterns: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            yield route, one


def _documented() -> set[str]:
    return set(SchemaGenerator().get_schema(request=None, public=True)["paths"])


def test_each_route_of_the_site_is_in_a_table():
    documented = {_bare(path) for path in _documented()}
    found = {route for route, _ in _routes(get_resolver().url_patterns)}
    known = {*ALL, *OPEN, *ROUTES}

    # The table of the admin goes through the admin's own patterns.
    of_admin = {f"admin/{route}" for route, _ in _routes(admin.site.get_urls())}
    outside = [
        route
        for route in found
        if route not in known | of_admin and "/" + re.sub(r"<[^>]+>", "{}", route) not in documented
    ]
    assert outside == []
    assert set(ROUTES) <= found


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_route_without_a_tenant_answers_as_the_table_says(
    world: World, callers: dict[str, Caller], route: str, method: str
):
    one = ROUTES[route]
    member = Client()
    with undone():
        member.force_login(Membership.objects.get(pk=world.ids["owner_member"]).user)
        got = {
            "anybody": Client().generic(method, one.path),
            "person": member.generic(method, one.path),
            "key": callers["an owner's key"].client.call(method, one.path),
        }
    for kind, answer in got.items():
        wanted = one.head if method == "HEAD" and one.head else getattr(one, kind)
        assert answer.status_code == wanted, (kind, answer.content)
        shown = b"".join(answer) if answer.streaming else answer.content
        assert b"canary-" not in shown, kind


def test_each_route_without_a_tenant_has_its_reason():
    assert [route for route, one in ROUTES.items() if not one.why] == []


@pytest.mark.parametrize("path", _PATHS)
def test_a_path_takes_no_method_that_the_document_does_not_name(
    world: World, stored: StoredRows, callers: dict[str, Caller], path: str
):
    for method in _METHODS:
        read = "GET" if method == "HEAD" else method
        if f"{read} {_bare(path)}" in _NAMED:
            continue
        for kind in ("no key", "a foreign owner's key", "an owner's key"):
            with undone():
                answer = callers[kind].client.call(method, world.path(path), {})
                assert answer.status_code == 405, (kind, method, answer.content)
                assert stored.changed() == [], (kind, method)


@pytest.mark.parametrize("operation", _READ, ids=lambda one: one.call)
def test_a_head_is_refused_as_a_get_and_shows_nothing(
    world: World, callers: dict[str, Caller], operation: Operation
):
    path = operation.call.split()[1]
    for kind, caller in callers.items():
        with undone():
            answer = caller.client.call("HEAD", world.path(path))
        wanted = operation.answer(caller)
        assert answer.status_code == wanted or (wanted == 200 and answer.status_code < 300), kind
        assert answer.content == b"", kind


def test_a_path_that_there_is_not_tells_nobody_more_than_that(callers: dict[str, Caller]):
    for kind, caller in callers.items():
        assert caller.client.get("/v1/nowhere").status_code == 404, kind
    assert ApiClient().get("/v1/nowhere").status_code == 404
