"""A fan-out that ends beside ordinary executions of others, and signals beside their waiters.

Faults 24 and 26 of the design.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from executions.complete.recording import record_in_batches
from executions.models import Execution
from executions.transitions import Finish
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.outcomes import finished
from tests.support.workflow_steps import Held, claim
from tests.support.workflows import begin_run, calls, ends_of, go_on, make_workflow, states
from workflows.advance import reading
from workflows.signals import send_signal

Beside = Callable[[Callable[[], Any]], Any]
ITEMS = 40
#: Each pair meets at another moment; in the long tests more often.
ROUNDS = [12, pytest.param(40, marks=pytest.mark.slow)]


def succeeded(row: Held) -> Finish:
    return Finish(row.id, row.token, row.attempt + 1, "SUCCEEDED", "SUCCEEDED")


def query_of(pid: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", [pid])
        return str(cursor.fetchone()[0])


def test_no_batch_with_an_ordinary_end_waits_for_the_run_of_a_fan_out(
    alpha: Tenant, beside: Beside
):
    step = calls("load", for_each=list(range(ITEMS)), max_parallel=ITEMS)
    run_id = begin_run(make_workflow(alpha, [step, calls("sum", "load")]))
    items = [succeeded(row) for row in claim(run_id).values()]
    others = finished(make_tenant("Beta"), 6)
    assert (len(items), len(others)) == (ITEMS, 6)
    halves = [items[0::2] + others[:3], items[1::2] + others[3:]]

    with transaction.atomic():
        # An advance of the run that takes its time.
        assert reading.lock([run_id])
        recorders = []
        for half in halves:
            recorder = beside(partial(record_in_batches, half))
            recorders.append(recorder)
            # Only behind its commit, to advance the run.
            assert recorder.waits_for_a_lock()
            # In a session of its own: within a transaction the activity stays as it was first seen.
            asked = beside(partial(query_of, recorder.pid)).join()
            assert "FROM workflow_runs r" in asked
        ended = Execution.objects.filter(
            pk__in=[one.execution_id for half in halves for one in half]
        )
        assert set(ended.values_list("status", flat=True)) == {"SUCCEEDED"}
    assert [recorder.join().done for recorder in recorders] == [ITEMS // 2 + 3] * 2

    go_on(run_id)
    assert states(run_id) == {"load": "SUCCEEDED", "sum": "OPEN"}
    assert len(ends_of(run_id)) == ITEMS + 1


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("keys", [["paid"], ["paid", "shipped"]])
def test_a_signal_at_the_moment_of_its_waiter_is_not_missed_and_released_once(
    alpha: Tenant, beside: Beside, keys: list[str], rounds: int
):
    waits: list[dict[str, Any]] = [
        {"key": key, "kind": "wait_for_event", "event": key, "depends_on": ["a"]} for key in keys
    ]
    task = make_workflow(alpha, [calls("a"), *waits])
    for _ in range(rounds // len(keys)):
        run_id = begin_run(task)
        row = claim(run_id)["a"]
        barrier = Barrier(1 + len(keys), timeout=20)

        def end_first(row: Held = row, barrier: Barrier = barrier) -> None:
            barrier.wait()
            record_in_batches([succeeded(row)])

        def send(key: str, barrier: Barrier = barrier) -> None:
            barrier.wait()
            send_signal(alpha.id, key, "", None, actor=ACTOR)

        sessions = [beside(end_first), *(beside(partial(send, key)) for key in keys)]
        for session in sessions:
            session.join()

        assert released(run_id, keys) == ["SUCCEEDED"] * len(keys)


def released(run_id: UUID, keys: list[str]) -> list[str]:
    found = states(run_id)
    assert len([end for end in ends_of(run_id) if end.step > 1]) == len(keys)
    return [found[key] for key in keys]
