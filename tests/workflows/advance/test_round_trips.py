"""The next step begins within a fixed number of round trips, by plans that are made once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from psycopg.pq import PipelineStatus

from executions import transitions
from executions.dispatch.handing_on import HandingOn
from executions.loop.clocks import database_now
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from shared.sql import statement
from tenants.services import active_signing_secrets
from tests.factories import make_tenant
from tests.support.beats import beat
from tests.support.recording_broker import Broker
from tests.support.workflow_steps import Held, claim, end
from tests.support.workflows import begin_run, calls, make_workflow
from workflows.advance.stage import advance

pytestmark = pytest.mark.django_db

#: The end of the step, and its budgets with its minute.
RECORD = 2
#: Lock, inbox, ended executions, holds, and what is written.
ADVANCE = 5
#: Statements of which a session keeps one plan.
_KEPT = (
    "complete/finish",
    "workflow_runs/insert_steps",
    "workflow_runs/update",
    "dispatch/claim_these",
)
#: A parameter as statements have it, and as the server has it.
_PARAMETER = re.compile(r"%\(\w+\)s|\$\d+|%(?=%)")


class Trips:
    """Counts round trips to the database: statements, and those that share one."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        alone = connection.connection.pgconn.pipeline_status == PipelineStatus.OFF
        # The tests' own transaction is open around that of the advance.
        if alone and not str(sql).startswith(("SAVEPOINT", "RELEASE")):
            self.count += 1
        return execute(sql, params, many, context)


@pytest.fixture
def handing_on() -> HandingOn:
    beat("w1")
    Partitions().run_once()
    return HandingOn(Broker().publish, active_signing_secrets)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trips]:
    trips, pipeline = Trips(), psycopg.Connection.pipeline

    def counting(session: Any) -> Any:
        trips.count += session.pgconn.pipeline_status == PipelineStatus.OFF
        return pipeline(session)

    with monkeypatch.context() as patched, connection.execute_wrapper(trips.note):
        patched.setattr(psycopg.Connection, "pipeline", counting)
        yield trips


def chain(length: int) -> tuple[UUID, Held]:
    steps = [calls(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(length)]
    run_id = begin_run(make_workflow(make_tenant(), steps))
    return run_id, claim(run_id)["s0"]


def hop(run_id: UUID, row: Held, handing_on: HandingOn) -> None:
    end(row)
    advance([run_id], handing_on)


def test_a_step_is_recorded_and_the_next_one_claimed_in_few_round_trips(
    handing_on: HandingOn, monkeypatch: pytest.MonkeyPatch
):
    run_id, first = chain(3)
    hop(run_id, first, handing_on)
    [second] = claim(run_id).values()

    now = database_now()
    outcome = Finish(
        second.id, second.token, 1, "SUCCEEDED", "SUCCEEDED", started_at=now, finished_at=now
    )
    with counted(monkeypatch) as recorded:
        transitions.finish([outcome])
    with counted(monkeypatch) as advanced:
        advance([run_id], handing_on)

    assert (recorded.count, advanced.count) == (RECORD, ADVANCE)
    assert len(claim(run_id)) == 1


def test_a_session_plans_what_it_writes_of_a_step_once(handing_on: HandingOn):
    run_id, row = chain(5)
    with connection.cursor() as cursor:
        # As the sessions of recorders have it.
        cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
    # A session prepares what it repeats.
    for _ in range(3):
        hop(run_id, row, handing_on)
        [row] = claim(run_id).values()
    before = plans_made()

    hop(run_id, row, handing_on)

    after = plans_made()
    assert after == {name: (kept + 1, made) for name, (kept, made) in before.items()}


def plans_made() -> dict[str, tuple[int, int]]:
    """Return of each statement how often its kept plan ran, and how often one was made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements")
        counts = [(_PARAMETER.sub("", text), kept, made) for text, kept, made in cursor.fetchall()]
    found = {}
    for name in _KEPT:
        text = _PARAMETER.sub("", statement(name))
        # A session prepares a statement once for each form of its parameters.
        forms = [(kept, made) for one, kept, made in counts if one == text]
        found[name] = sum(kept for kept, _ in forms), sum(made for _, made in forms)
    return found
