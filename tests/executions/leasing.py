"""Work for workers outside, and the calls of its holders, as tests make them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from executions import transitions
from executions.external.pools import change_pool
from executions.external.pull_leases import Ask, Lease, lease
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from shared import execution_tokens
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import (
    ACTOR,
    ApiClient,
    api,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
)

POOL = "batch"


def work(tenant: Tenant, count: int = 1, *, pool: str = POOL, **parts: Any) -> list[Task]:
    """Create one-time tasks, due now, whose work the pool's workers lease."""
    change_pool(tenant.id, pool, {}, actor=ACTOR)
    extra = parts.pop("target", {})
    target = {"kind": "pool", "pool": pool, "handler": "make_invoice", **extra}
    made = [make_task(tenant, once(target=target, **parts)) for _ in range(count)]
    prepare()
    return made


def take(tenant: Tenant, most: int = 10, *, pool: str = POOL, **parts: Any) -> list[Lease]:
    """Lease as a worker does."""
    return lease(tenant.id, Ask(pool=pool, worker=parts.pop("worker", "w-1"), most=most, **parts))


def take_one(tenant: Tenant, **parts: Any) -> Lease:
    """Lease one execution; there must be one."""
    [found] = take(tenant, 1, **parts)
    return found


def call(execution_id: UUID | str, verb: str, token: str, body: Any = None) -> Any:
    """Call as the holder of the token, without any key."""
    client: ApiClient = api()
    path = f"/v1/executions/{execution_id}/{verb}"
    return client.post(path, {} if body is None else body, x_execution_token=token)


def callback_task(tenant: Tenant, **target: Any) -> Task:
    """Create a one-time task, due now, whose receiver goes on after a 202."""
    url = "https://api.example.com/long"
    made = make_task(tenant, once(target={"url": url, "completion": "callback", **target}))
    prepare()
    return made


def handed_out(tenant: Tenant, **target: Any) -> tuple[Any, str]:
    """Return a callback's execution that a worker of ours holds, and its token."""
    task = callback_task(tenant, **target)
    row = next(row for row in release() if row.task_id == task.id)
    pass_guard([row])
    return Execution.objects.get(pk=row.id), execution_tokens.make(str(row.id), row.token)


def accepted(tenant: Tenant, **target: Any) -> tuple[Execution, str]:
    """Return a callback's execution whose receiver has answered 202, and its token."""
    execution, token = handed_out(tenant, **target)
    now = database_now()
    said = (execution.id, execution.fencing_token or 0, "worker-1", now, now)
    assert transitions.accept([said]) == [execution.id]
    return reread(execution), token


def let_expire(execution_id: UUID, seconds: float = 1.0) -> None:
    """Let the lease be over since so long."""
    Execution.objects.filter(pk=execution_id).update(
        lease_expires_at=database_now() - timedelta(seconds=seconds)
    )


def pass_time_since(execution_id: UUID, column: str, seconds: float) -> None:
    """Put a time of the execution so far back."""
    moved = {column: F(column) - timedelta(seconds=seconds)}
    Execution.objects.filter(pk=execution_id).update(**moved)


def rescue() -> int:
    """Let a scheduler take back what is lost; return how many."""
    partitions = Partitions()
    partitions.run_once()
    done = Rescuer(partitions).run_once().done
    partitions.release_all()
    return done


def reread(execution: Execution | UUID) -> Any:
    """Return the execution as it is stored now."""
    return Execution.objects.get(pk=getattr(execution, "pk", execution))
