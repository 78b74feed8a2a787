"""Lets the loops of a test run as the role that they have in an installation.

As with the web's role (``tests.support.walls``), the session logs in as the owner; outside of
requests it changes to the role of the loops. What makes the world of a test is the owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from pkgutil import resolve_name
from typing import Any, ParamSpec, TypeVar

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from operations.database_roles.loops import make_loops_role
from shared import tenant_scope
from tests.support.walls import web_url

LOOPS_ROLE = "test_loops"
LOOPS_PASSWORD = "test-loops"
#: What the processes of the loops call, by the names that tests call it by.
DOORS = (
    "executions.bulk.jobs.run_some",
    "executions.bulk.jobs.wake_waiting",
    "executions.bulk.steps.run_some",
    "executions.bulk.steps.wake_waiting",
    "executions.changes.calendar_changes.follow_some",
    "executions.changes.ending_pauses.run_once",
    "executions.changes.failing.run_once",
    "executions.changes.suspension.mend",
    "executions.changes.zone_recompute.check_zone_rules",
    "executions.dependencies.stage.run_once",
    "executions.erasure.steps.run_some",
    "executions.erasure.steps.wake_waiting",
    "executions.gate.keys.run_once",
    "executions.gate.stage.run_once",
    "executions.housekeeping.stage.run_once",
    "executions.housekeeping.worker_history.run_once",
    "executions.ledger.tenant_retention.remove_old",
    "executions.materialize.stage.run_once",
    "executions.resealing.passes.run_some",
    "executions.resealing.passes.wake_waiting",
    "notifications.alerter.judge",
    "notifications.conditions.Conditions.look",
    "notifications.event_webhooks.sending.send_due_events",
    "notifications.event_webhooks.waking.wake_due_subscriptions",
    "notifications.notices.plan_due_notices",
    "notifications.services.addresses.send_confirmation",
    "notifications.services.deliveries.prune_alerts",
    "notifications.services.deliveries.send_delivery",
    "notifications.services.deliveries.wake_due_deliveries",
    "notifications.services.invitations.send_invitation",
    "notifications.time_checks.burning.check_budgets",
    "notifications.time_checks.stage.check",
)
P = ParamSpec("P")
T = TypeVar("T")
_OWNER = tenant_scope.CLEAR
_LOOPS = tenant_scope.Binding(LOOPS_ROLE, "", "")
#: Of each thread of its own: two that are in a door at once leave it in any order.
_binding: ContextVar[tenant_scope.Binding] = ContextVar("binding", default=_OWNER)
_wanted = tenant_scope.wanted


def loops_url() -> str:
    """Return the address of the test database for the loops' role."""
    found = connection.settings_dict
    return make_conninfo(
        host=found["HOST"],
        port=found["PORT"] or None,
        dbname=found["NAME"],
        user=LOOPS_ROLE,
        password=LOOPS_PASSWORD,
    )


def hold_the_loops_back() -> None:
    """Make the role of the loops."""
    # Tests that migrate back and forth make tables anew, and `migrate` then grants rights on them.
    settings.LOOPS_DATABASE_URL = loops_url()
    tenant_scope.wanted = _wanted_here
    make_loops_role(loops_url(), web_url())
    with connection.cursor() as cursor:
        # The clock that stands still is in a schema of its own.
        cursor.execute(f"GRANT USAGE ON SCHEMA standing TO {LOOPS_ROLE}")


@contextmanager
def as_loops() -> Iterator[None]:
    """Run the statements outside of requests as the role of the loops."""
    with _as(_LOOPS):
        yield


@contextmanager
def as_owner() -> Iterator[None]:
    """Run the statements outside of requests as the owner, also within :func:`as_loops`."""
    with _as(_OWNER):
        yield


def by_the_loops(done: Callable[P, T]) -> Callable[P, T]:
    """Let a function that does the work of the loops run as they do."""

    @wraps(done)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        with as_loops():
            return done(*arguments, **named)

    return run


def by_the_owner(made: Callable[P, T]) -> Callable[P, T]:
    """Let a function that makes the world of a test run as the owner."""

    @wraps(made)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        with as_owner():
            return made(*arguments, **named)

    return run


@pytest.fixture(autouse=True)
def runs_as_loops() -> Iterator[None]:
    """Run the tests of a file that imports this as the loops' role."""
    with as_loops():
        yield


@pytest.fixture(autouse=True)
def doors_of_the_loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what the loops call run as their role, in tests that call it directly."""
    own = {id(value): name for name, value in vars(request.module).items()}
    for door in DOORS:
        place, name = _place_of(door)
        found = getattr(place, name)
        wrapped = _wrapped(found)
        monkeypatch.setattr(place, name, wrapped)
        if id(found) in own:
            monkeypatch.setattr(request.module, own[id(found)], wrapped)


@cache
def _place_of(door: str) -> tuple[Any, str]:
    """Return the module or class that has the door, and its name there."""
    place, _, name = door.rpartition(".")
    return resolve_name(place), name


@cache
def _wrapped(found: Callable[..., Any]) -> Callable[..., Any]:
    return by_the_loops(found)


class LoginOfLoops:
    """In place of Django's connection: how a session of the loops' own logs in."""

    @staticmethod
    def get_connection_params() -> dict[str, Any]:
        """Return the parameters of the test's connection, with the loops' role."""
        found: dict[str, Any] = connection.get_connection_params()
        return {**found, "user": LOOPS_ROLE, "password": LOOPS_PASSWORD}


@contextmanager
def _as(binding: tenant_scope.Binding) -> Iterator[None]:
    token = _binding.set(binding)
    try:
        yield
    finally:
        _binding.reset(token)


def _wanted_here() -> tenant_scope.Binding | None:
    found = _wanted()
    return _binding.get() if found == tenant_scope.CLEAR else found
