"""Recorders: a crash loses nothing, a stop ends after the batch."""

from __future__ import annotations

from datetime import timedelta

from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from tests.factories import make_task, make_tenant, once
from tests.support.holding_receiver import holding_receiver
from tests.support.processes import Processes
from tests.support.waiting import until

COUNT, HELD = 300, 10


def names() -> list[str]:
    found = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    return [one["name"].decode().partition("@")[0] for one in found]


def reads(name: str) -> bool:
    """Say whether a recorder of this name has asked for work."""
    return bool(client().exists(OUTCOME_STREAM)) and name in names()


def test_a_crash_under_load_loses_and_doubles_nothing(run: Processes) -> None:
    receiver = run.receiver()
    run.start("scheduler")
    run.start("worker")
    recorder = run.start("recorder")
    until(lambda: reads(recorder.name))
    tenant, soon = make_tenant(), database_now() + timedelta(seconds=1)
    for number in range(COUNT):
        at = soon + timedelta(milliseconds=10 * number)
        make_task(tenant, once(at, target={"url": receiver.url("/ok")}, name=str(number)))
    with holding_receiver() as holding:
        # So much is never recorded before the crash, however late it comes.
        target = {"url": holding.url, "timeout_seconds": 600}
        for number in range(HELD):
            make_task(tenant, once(soon, target=target, name=f"held {number}"))
        until(lambda: Execution.objects.filter(status="SUCCEEDED").count() > COUNT // 10)

        recorder.kill()
        holding.let_go_all()
        run.start("recorder")

        until(lambda: Execution.objects.filter(status="SUCCEEDED").count() == COUNT + HELD)
        assert len(holding.ids) == len(set(holding.ids)) == HELD
    assert Attempt.objects.count() == COUNT + HELD
    assert set(Attempt.objects.values_list("number", "outcome")) == {(1, "SUCCEEDED")}
    assert len(receiver.lines("/ok")) == COUNT
    until(lambda: client().xlen(OUTCOME_STREAM) == 0)


def test_a_stop_leaves_no_place_in_the_group(run: Processes) -> None:
    recorder = run.start("recorder")
    until(lambda: reads(recorder.name))

    assert recorder.stop() == 0

    assert names() == []
    assert "recorder.stopped" in recorder.output
