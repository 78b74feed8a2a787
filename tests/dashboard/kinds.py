"""Executions of every kind of target, brought to their end for the pages that show them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from executions.external.pools import change_pool
from executions.models import Execution
from shared.conf import conf
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, finish, make_task, once, prepare, release, start
from tests.tasks.bodies import TARGETS
from wire.sealing import sealed_log

#: What a program may write to confuse whoever reads it.
HOSTILE_LOG = b"\x1b[31mred\x1b[0m <script>alert('x')</script> user\xe2\x80\xaetxt.exe\r\n"


def allow(monkeypatch: pytest.MonkeyPatch, tenant: Tenant) -> None:
    """Let the tenant's tasks name the command and the pool of the bodies."""
    monkeypatch.setattr(
        settings,
        "PUNCTUAL",
        replace(
            conf(),
            allowed_commands={"backup": "/bin/x"},
            command_variables={"backup": ("TOKEN", "MODE", "A")},
        ),
    )
    change_pool(tenant.id, "batch-etl", {}, actor=ACTOR)


def task_of(tenant: Tenant, kind: str, **parts: Any) -> Task:
    """Create a one-time task, due now, of the kind."""
    target = {**TARGETS[kind], **parts.pop("target", {})}
    made = make_task(tenant, once(target=target, **parts))
    prepare()
    return made


def started(task: Task, log: bytes | None = None, status: str = "", **parts: Any) -> Execution:
    """Let the task's execution start and, given a status, end so, with what it wrote."""
    execution = Execution.objects.get(task_id=task.id)
    # Released as work of our own workers' pool, whatever pool it is of.
    Execution.objects.filter(pk=execution.pk).update(pool="default")
    [row] = release()
    start([row])
    if status:
        written = None
        if log is not None:
            written = sealed_log(
                {"tenant": execution.tenant_id, "id": execution.pk},
                log,
                truncated=False,
                exit_code=3,
            )
        finish(row, status, sealed_response=written, response_status=None, **parts)
    Execution.objects.filter(pk=execution.pk).update(pool=task.pool)
    execution.refresh_from_db()
    return execution
