"""Another tenant's object is answered as one that there is not: the same words, the same effort.

The effort is the number of statements, which does not depend on the machine.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.choices import Role
from tenants.models import Membership, Tenant
from tests.access.command_words import STRANGER, WORDS
from tests.access.console_rights import (
    ALL,
    GONE,
    METHODS,
    NEEDS,
    VISITORS,
    answer,
    names_an_object,
)
from tests.access.console_routes import path_of
from tests.access.operations import OPERATIONS, Operation
from tests.access.unknown_rows import beside, plain
from tests.access.world import Caller, World, undone
from tests.support.api import make_tenant
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db

_CALLS = [one for one in OPERATIONS if "{" in one.call and one.foreign == 404]
_ROUTES = [one for one in ALL if names_an_object(one) and one in NEEDS]
_NAMED = [one for one, words in WORDS.items() if "{" in words and "{at}" not in words]


@pytest.fixture(scope="module")
def nowhere(world: World) -> World:
    """Return the world with ids of no row that are close to those of its rows."""
    return replace(world, ids={name: beside(value) for name, value in world.ids.items()})


@pytest.fixture(scope="module")
def stranger(world: World) -> Client:
    user = User.objects.create_user("stranger")
    Membership.objects.create(user=user, tenant=make_tenant("Iota"), role=Role.OWNER)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture(scope="module")
def epsilon(world: World) -> Tenant:
    return make_tenant(STRANGER)


@pytest.mark.parametrize("operation", _CALLS, ids=lambda one: f"{one.name}-{OPERATIONS.index(one)}")
def test_a_call_answers_a_foreign_id_as_an_unknown_one(
    world: World, nowhere: World, callers: dict[str, Caller], operation: Operation
):
    caller, found = callers["a foreign owner's key"], []
    # The first one reads what a process remembers.
    for key, of in enumerate((nowhere, world, nowhere)):
        with undone(), CaptureQueriesContext(connection) as asked:
            got = operation.ask(of, caller, f"same-{key}")
        body = {name: said for name, said in got.json().items() if name != "trace_id"}
        found.append((got.status_code, plain(repr(body), world, nowhere), len(asked)))

    assert found[1] == found[2]
    assert found[1][0] == 404


@pytest.mark.parametrize("route", _ROUTES)
def test_a_page_answers_a_foreign_id_as_an_unknown_one(
    world: World, nowhere: World, stranger: Client, route: str
):
    for method in METHODS:
        if answer(route, method, VISITORS["a foreign owner"]) != GONE:
            continue
        found = []
        for of in (nowhere, world, nowhere):
            with undone(), CaptureQueriesContext(connection) as asked:
                got = stranger.generic(method, path_of(route, of))
            place = plain(got.get("Location", ""), world, nowhere)
            found.append((got.status_code, place, plain(got.text, world, nowhere), len(asked)))

        assert found[1][2].splitlines() == found[2][2].splitlines(), method
        assert found[1] == found[2], method


@pytest.mark.parametrize("command", _NAMED)
def test_a_command_answers_a_foreign_id_as_an_unknown_one(
    world: World, nowhere: World, epsilon: Tenant, command: str
):
    found = []
    for of in (world, nowhere):
        words = WORDS[command].format(**of.ids).split()
        with undone():
            said = call(*command.split(), "--tenant", STRANGER, *words)
        found.append((said.code, plain(said.out, world, nowhere), plain(said.err, world, nowhere)))

    assert found[0] == found[1]
    assert found[0][0] != 0
