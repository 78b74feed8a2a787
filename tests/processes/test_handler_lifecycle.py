"""Handlers and commands through real workers, from the task to its result, and a worker's stop."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from executions.captured_logs import captured_log
from executions.changes.cancellation import cancel_execution
from executions.models import Attempt, Execution
from executions.payloads import progress_of, result_of
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant, once
from tests.support.processes import Process, Processes, loops_database_url
from tests.support.waiting import until
from wire.heartbeats import workers

pytestmark = pytest.mark.slow

MODULES = "tests.support.sample_handlers"
QUICK_RETRY = {"max_attempts": 5, "backoff": "fixed", "initial_delay_seconds": 0.1}


@pytest.fixture
def tenant(transactional_db: None, settings: Settings) -> Tenant:
    settings.PUNCTUAL = replace(
        conf(), allowed_commands={"sh": "/bin/sh"}, command_variables={"sh": ("REGION",)}
    )
    return make_tenant()


def handlers(run: Processes, **environment: str) -> Process:
    """Start a worker of handlers and wait until it takes work."""
    worker = run.start(
        "worker", "--pool", "handlers", HANDLER_MODULES=MODULES, HANDLER_SLOTS="2", **environment
    )
    until(lambda: any(one.takes_work and one.details["pid"] == worker.pid for one in workers()))
    return worker


def calling(tenant: Tenant, handler: str, payload: Any = None, **target: Any) -> Execution:
    """Return the execution of a task that calls the handler now."""
    task = make_task(
        tenant,
        once(
            target={"kind": "handler", "handler": handler, **target},
            payload=payload,
            retry_policy=QUICK_RETRY,
        ),
    )
    until(lambda: Execution.objects.filter(task_id=task.id).exists())
    return Execution.objects.get(task_id=task.id)


def reached(execution: Execution, status: str) -> bool:
    execution.refresh_from_db()
    return str(execution.status) == status


def outcomes(execution: Execution) -> list[str]:
    found = Attempt.objects.filter(execution_id=execution.id).order_by("number")
    return list(found.values_list("outcome", flat=True))


def test_handlers_run_beside_each_other_and_their_results_are_kept(
    run: Processes, tenant: Tenant
) -> None:
    run.start("scheduler")
    run.start("recorder")
    handlers(run, DATABASE_URL=loops_database_url())
    (slots,) = [one.slots for one in workers()]
    poison = calling(tenant, "segfault")
    fine = calling(tenant, "echo", {"n": 1})
    running = calling(tenant, "polite", timeout_seconds=60)

    models = calling(tenant, "counts_tenants")

    until(lambda: reached(fine, "SUCCEEDED") and reached(models, "SUCCEEDED"))
    until(lambda: reached(running, "RUNNING") and progress_of(running) == "waiting")
    cancel_execution(tenant.id, running.id, actor=ACTOR)
    until(lambda: reached(running, "CANCELLED"))
    until(lambda: reached(poison, "FAILED"))

    assert (slots, result_of(models)) == (2, 1)
    assert result_of(fine)["payload"] == {"n": 1}
    assert b"a line of output" in captured_log(fine).output
    assert (poison.reason, poison.lost_count) == ("poisoned", 3)
    assert outcomes(poison) == ["WORKER_LOST"] * 3
    assert [one.takes_work for one in workers()] == [True]


def test_a_stopping_worker_interrupts_what_outlasts_its_drain_and_another_goes_on(
    run: Processes, tenant: Tenant
) -> None:
    run.start("scheduler")
    run.start("recorder")
    worker = handlers(run, DRAIN_SECONDS="0.5")
    execution = calling(tenant, "polite", timeout_seconds=120)
    until(lambda: reached(execution, "RUNNING"))

    assert worker.stop() == 0

    until(lambda: reached(execution, "RETRYING") or reached(execution, "QUEUED"))
    assert outcomes(execution) == ["WORKER_LOST"]
    execution.refresh_from_db()
    assert execution.lost_count == 0
    handlers(run)
    until(lambda: reached(execution, "RUNNING") and execution.attempt == 2)


def test_a_command_runs_and_what_it_prints_is_its_result(run: Processes, tenant: Tenant) -> None:
    run.start("scheduler")
    run.start("recorder")
    as_root = os.geteuid() == 0
    account = {"COMMAND_USER": "65532"} if as_root else {}
    allowed = {"ALLOWED_COMMANDS": "sh=/bin/sh", "COMMAND_VARIABLES": "sh=REGION", **account}
    run.start("worker", "--pool", "commands", **allowed)
    task = make_task(
        tenant,
        once(
            target={
                "kind": "command",
                "command": "sh",
                "arguments": ["-c", "cat; echo $REGION $(id -u) >&2"],
                "environment": {"REGION": "eu"},
            },
            payload={"n": 1},
        ),
    )

    until(lambda: Execution.objects.filter(task_id=task.id, status="SUCCEEDED").exists())

    execution = Execution.objects.get(task_id=task.id)
    assert result_of(execution) == {"n": 1}
    log = captured_log(execution)
    uid = 65532 if as_root else os.geteuid()
    assert (log.exit_code, f"eu {uid}" in log.output.decode()) == (0, True)
