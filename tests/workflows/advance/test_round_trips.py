"""The next step begins within a fixed number of round trips."""

from __future__ import annotations

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
