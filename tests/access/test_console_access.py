"""Every page of the console as a member of another tenant, and what no page shows to anybody."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.choices import Role
from tenants.models import Membership, Tenant
from tests.access.console_routes import ROUTES, WITHOUT_TENANT, path_of
from tests.access.stored_rows import StoredRows
from tests.access.world import (
    SEEN_BY_ADMINS,
    SEEN_BY_NONE,
    SEEN_BY_READERS,
    World,
    undone,
)
from tests.support.api import make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def beta(world: World) -> Tenant:
    return make_tenant("Delta")


@pytest.fixture(scope="module")
def stranger(beta: Tenant) -> Client:
    return _signed_in("stranger", beta)


@pytest.fixture(scope="module")
def own(world: World) -> Client:
    return _signed_in("colleague", world.tenant)


def _signed_in(name: str, tenant: Tenant) -> Client:
    user = User.objects.create_user(name)
    Membership.objects.create(user=user, tenant=tenant, role=Role.OWNER)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.mark.parametrize("route", ROUTES)
def test_no_page_shows_or_changes_anything_of_another_tenant(
    world: World, stored: StoredRows, beta: Tenant, stranger: Client, route: str
):
    path = path_of(route, world)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("GET", {}),
        ("POST", {"form_tenant": str(beta.pk), "endpoint": "https://push.example.com/browser-1"}),
        # As a form of the other tenant, which the stranger does not belong to.
        ("POST", {"form_tenant": str(world.tenant.pk), "tenant": str(world.tenant.pk)}),
    ]
    for method, data in asked:
        with undone():
            answer = (
                stranger.generic(method, path) if method == "GET" else stranger.post(path, data)
            )
            said = f"{method} {path}: {answer.status_code}"
            assert answer.status_code < 500, said
            shown = b"".join(answer) if answer.streaming else answer.content
            for canary in (SEEN_BY_READERS, SEEN_BY_ADMINS, SEEN_BY_NONE):
                assert canary.encode() not in shown, said
            assert stored.changed() == [], said


@pytest.mark.parametrize("route", [one for one in ROUTES if one not in WITHOUT_TENANT])
def test_no_page_shows_a_secret_to_those_who_may_see_all_else(
    world: World, own: Client, route: str
):
    with undone():
        answer = own.get(path_of(route, world))

    assert SEEN_BY_NONE not in answer.content.decode()
    # Examples of receivers take the prefix off; a secret is longer.
    assert not re.search("whsec_[A-Za-z0-9+/=_-]{8}", answer.content.decode())


def test_the_pages_of_the_tenants_own_members_show_what_those_of_strangers_do_not(
    world: World, own: Client
):
    shown = {route for route in ROUTES if "<" in route and _shows(own, path_of(route, world))}

    assert shown >= {
        "tasks/<uuid:task_id>",
        "tasks/<uuid:task_id>/edit",
        "executions/<uuid:execution_id>",
        "executions/<uuid:execution_id>/log",
        "dead-letters/<uuid:letter_id>",
        "bulk-jobs/<uuid:job_id>",
        "alerts/<uuid:alert_id>",
        "settings/calendars/<uuid:calendar_id>",
    }


def _shows(client: Client, path: str) -> bool:
    with undone():
        answer = client.get(path)
    return SEEN_BY_READERS in answer.content.decode()
