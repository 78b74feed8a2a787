from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership import fence
from executions.ownership.partitions import Partitions
from launcher import local_state
from launcher.run_lock import RunLock
from operations.doctor import Matter, Verdict, runtime
from shared.clock_watch import Skew
from shared.redis_client import OUTCOME_STREAM, client
from tests.factories import make_execution, make_tenant
from tests.support.recorder import ask_for_outcomes
from wire import heartbeats
from wire.heartbeats import WorkerInfo

pytestmark = pytest.mark.django_db


def _worker(silent: float, **details: Any) -> WorkerInfo:
    said: Any = details
    return WorkerInfo("worker-1@host:1", silent, "default", 512, 4000, said)


def test_restarts_and_missing_processes_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    not_running = runtime.processes()
    found = []
    with RunLock(tmp_path):
        for pid, restarts in ((os.getpid(), 0), (os.getpid(), 3), (None, 3)):
            entry = {"name": "worker-1", "pid": pid, "restarts": restarts}
            local_state.write_runtime(tmp_path, {"processes": [entry]})
            found.append(runtime.processes())

    assert not_running.verdict is Verdict.OK
    assert [item.verdict for item in found] == [Verdict.OK, Verdict.WARNING, Verdict.FAILED]
    assert "worker-1 3" in found[1].evidence


def test_without_a_scheduler_partitions_have_no_owner():
    assert runtime.schedulers().verdict is Verdict.FAILED
    assert runtime.partitions().evidence == "0 of 256 owned"

    Partitions().run_once()

    assert runtime.schedulers().verdict is Verdict.OK
    assert runtime.partitions().verdict is Verdict.OK


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ([], Verdict.FAILED),
        ([_worker(1.0)], Verdict.OK),
        ([_worker(1.0, draining=True)], Verdict.FAILED),
        ([_worker(600.0)], Verdict.FAILED),
        ([_worker(1.0), _worker(600.0)], Verdict.WARNING),
    ],
)
def test_workers_must_take_work_and_silent_ones_are_told(monkeypatch, known, verdict):
    monkeypatch.setattr(heartbeats, "workers", lambda: known)

    assert runtime.workers().verdict is verdict


def test_a_recorder_that_asks_for_outcomes_lives():
    assert runtime.recorders().evidence == "none lives"

    ask_for_outcomes()

    assert runtime.recorders().verdict is Verdict.OK
    assert runtime.recorders().evidence == "1 live; entries waiting: 0, being written: 0"


def test_outcomes_that_pile_up_are_odd():
    ask_for_outcomes()
    with client().pipeline() as pipe:
        for _ in range(1001):
            pipe.xadd(OUTCOME_STREAM, {"d": b"{}"})
        pipe.execute()

    found = runtime.recorders()

    assert found.verdict is Verdict.WARNING
    assert "waiting: 1001" in found.evidence


def test_outcomes_that_are_not_written_are_broken(monkeypatch):
    ask_for_outcomes()
    minute_ago = int((database_now() - timedelta(minutes=1)).timestamp() * 1000)
    client().xadd(OUTCOME_STREAM, {"d": b"{}"}, id=f"{minute_ago}-0")
    monkeypatch.setattr(runtime, "_redis_time", lambda: minute_ago / 1000 + 60)

    found = runtime.recorders()

    assert found.verdict is Verdict.FAILED
    assert "the oldest is 60 s old" in found.evidence


@pytest.mark.parametrize("status", ["PENDING", "QUEUED"])
@pytest.mark.parametrize(
    ("late", "verdict"), [(2, Verdict.OK), (20, Verdict.WARNING), (90, Verdict.FAILED)]
)
def test_work_that_waits_too_long_is_named(status, late, verdict):
    execution = make_execution(make_tenant(), status)
    Execution.objects.filter(pk=execution.id).update(
        due_at=database_now() - timedelta(seconds=late)
    )

    found = runtime.oldest_due()

    assert found.verdict is verdict
    assert f"{execution.id} ({status})" in found.evidence


def test_work_that_is_held_or_running_does_not_wait():
    Execution.objects.filter(pk=make_execution(make_tenant()).id).update(held=True)
    make_execution(make_tenant("Beta"), "RUNNING")

    assert runtime.oldest_due().evidence == "nothing waits"


def test_work_that_a_tenants_workers_do_not_lease_is_told_and_is_no_fault():
    assert runtime.pull_pools().evidence == "nothing waits to be leased"
    execution = make_execution(make_tenant())
    Execution.objects.filter(pk=execution.id).update(
        pool="pull.nightly", due_at=TransactionNow() - timedelta(seconds=300)
    )

    waiting = runtime.pull_pools()

    assert runtime.oldest_due().evidence == "nothing waits"
    assert waiting.verdict is Verdict.OK
    assert waiting.evidence.startswith("1 execution waits in 1 pool for the tenants' own workers")
    assert waiting.evidence.endswith("the oldest since 300 s")


def test_work_that_waits_for_its_destination_is_told_and_is_no_fault():
    assert runtime.destinations().evidence == "nothing waits for a destination"
    execution = make_execution(make_tenant())
    Execution.objects.filter(pk=execution.id).update(
        parked=True, due_at=TransactionNow() - timedelta(seconds=300)
    )

    waiting = runtime.destinations()

    assert runtime.oldest_due().evidence == "nothing waits"
    assert (waiting.verdict, waiting.matter) == (Verdict.OK, Matter.TENANTS)
    assert waiting.evidence == (
        "1 execution waits for limits or circuits of 1 destination, the oldest since 300 s"
    )


def test_clocks_that_disagree_are_odd(monkeypatch):
    assert runtime.clocks().verdict is Verdict.OK

    monkeypatch.setattr(
        runtime, "_offset", lambda ask: 0.06 if ask is runtime._database_time else -0.06
    )
    found = runtime.clocks()

    # Each is within the bound against the host, but not against the other.
    assert found.verdict is Verdict.WARNING
    assert "database +60.0 ms, Redis -60.0 ms" in found.evidence


def test_process_whose_clock_is_off_is_odd(monkeypatch):
    monkeypatch.setattr(runtime, "skews", lambda: [Skew("worker-1@host", 300.0)])

    found = runtime.clocks()

    assert found.verdict is Verdict.WARNING
    assert "the clock of worker-1@host is 300.0 s ahead" in found.evidence


def test_partitions_behind_the_fence_are_broken_and_the_way_out_is_told():
    with connection.cursor() as cursor:
        fence.hold(cursor)

    found = runtime.partitions()

    assert found.verdict is Verdict.FAILED
    assert "restore --confirm" in found.remedy
