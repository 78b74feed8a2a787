"""A whole life of the ledger, by processes whose role in the database owns nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from executions.broker import publish_system_job
from executions.choices import FINAL
from executions.erasure.requests import erase_task
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import DeadLetter, EndedWorkflowRun, Erasure, Execution
from executions.resealing.passes import hand_on
from executions.triggering.triggers import run_task
from tasks.models import Task
from tenants.models import Resealing, Tenant
from tenants.services.data_keys import rotate_data_key
from tests.executions.old_days import days_of, forget, make_days, name_of, put
from tests.factories import ACTOR, every_second, make_task, make_tenant, once
from tests.support.loops import LOOPS_ROLE
from tests.support.processes import Process, Processes, Receiver, loops_database_url
from tests.support.waiting import until
from tests.support.workflows import make_workflow

pytestmark = pytest.mark.slow

RETRY = {"max_attempts": 3, "initial_delay_seconds": 0.1, "jitter": "none"}


@pytest.fixture
def kept_for_ten_days(run: Processes) -> Iterator[Processes]:
    run.extra["RETENTION_DAYS"] = "10"
    run.extra["ARCHIVE_DIR"] = str(run.directory / "archive")
    make_days(20)
    yield run
    forget()


def _start_all(run: Processes) -> Process:
    """Start one of each kind; return the system worker."""
    for kind in ("scheduler", "recorder", "worker"):
        run.start(kind)
    return run.start(
        "worker",
        "--pool",
        "system",
        DATABASE_URL=loops_database_url(),
        PROCESS_KIND="system-worker",
    )


def _roles() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT usename::text FROM pg_stat_activity WHERE application_name IN"
            " ('punctual-scheduler', 'punctual-recorder', 'punctual-system-worker')"
        )
        return {row[0] for row in cursor.fetchall()}


def _ended(task: Task, count: int = 1) -> bool:
    return Execution.objects.filter(task_id=task.id, status__in=FINAL).count() >= count


def test_a_whole_life_needs_no_right_that_the_loops_lack(kept_for_ten_days: Processes) -> None:
    run, alpha = kept_for_ten_days, make_tenant()
    put(alpha, 20)
    system = _start_all(run)
    receiver = run.receiver()

    until(lambda: _roles() == {LOOPS_ROLE})
    _work(alpha, receiver)
    _taken_over(run, system, alpha, receiver)
    _kept_house(run)
    _erased_and_sealed_anew(alpha, receiver)

    assert run.denied() == []


def _work(alpha: Tenant, receiver: Receiver) -> None:
    """Run, retry, fail for good, and run a workflow."""
    soon = database_now() + timedelta(seconds=1)

    def calls(path: str, **parts: Any) -> Task:
        body = once(soon, target={"url": receiver.url(path)}, retry_policy=RETRY, **parts)
        return make_task(alpha, {**body, "name": path})

    retried, lost = calls("/flaky?fail=1"), calls("/status/500")
    again = make_task(alpha, every_second(target={"url": receiver.url("/ok")}))
    steps = [
        {"key": "one", "target": {"url": receiver.url("/one")}},
        {"key": "two", "depends_on": ["one"], "target": {"url": receiver.url("/two")}},
    ]
    flow = make_workflow(alpha, steps)
    run_task(alpha.id, flow.id, None, actor=ACTOR)

    until(lambda: _ended(retried) and _ended(lost) and _ended(again, 3))
    until(lambda: EndedWorkflowRun.objects.filter(task_id=flow.id).exists())
    assert Execution.objects.get(task_id=retried.id).status == "SUCCEEDED"
    assert DeadLetter.objects.filter(task_id=lost.id).exists()


def _taken_over(run: Processes, system: Process, alpha: Tenant, receiver: Receiver) -> None:
    """Let another scheduler take over from one that dies, and a worker's lost work run again."""
    for process in [one for one in run.started if one.name.startswith(("scheduler", "worker"))]:
        if process is not system:
            process.kill()
    run.start("scheduler")
    run.start("worker")
    later = make_task(alpha, once(target={"url": receiver.url("/later")}))
    until(lambda: _ended(later))


def _kept_house(run: Processes) -> None:
    """Drop the old day, archive it, and make a day that has left once more."""
    publish_system_job("executions.keep_house")
    until(lambda: name_of(20) not in days_of())
    archive = Path(run.extra["ARCHIVE_DIR"])
    until(lambda: len(list(archive.rglob("*.csv.gz"))) == len(ledger.DAILY_TABLES))
    publish_system_job("executions.make_days", name_of(20))
    until(lambda: name_of(20) in days_of())


def _erased_and_sealed_anew(alpha: Tenant, receiver: Receiver) -> None:
    task = make_task(alpha, once(target={"url": receiver.url("/gone")}))
    until(lambda: _ended(task))
    erasure = erase_task(alpha.id, task.id, reason="a test", actor=ACTOR)
    until(lambda: Erasure.objects.filter(pk=erasure.pk, ended_at__isnull=False).exists())
    resealing = rotate_data_key(alpha.id, actor=ACTOR)
    hand_on(resealing.pk)
    until(lambda: Resealing.objects.filter(pk=resealing.pk, ended_at__isnull=False).exists())
