"""The operations of the matrix: what services, stages and workers do to one installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction

from executions import transitions
from executions.bulk.jobs import run_some
from executions.changes.cancellation import cancel_execution
from executions.housekeeping import stage as housekeeping
from executions.loop.lower_bounds import NEVER
from executions.materialize import stage as materialize
from executions.rescue import expiry
from executions.transitions import Finish
from tests.concurrency.pair_world import World, claim_all
from tests.executions.changes.changes import cancel, delete, patch, pause
from tests.executions.changes.standing import stand
from tests.factories import ACTOR, WORKER

Operation = Callable[[World], Any]


def _prepare(world: World) -> Any:
    return materialize.run_once(world.partitions)


@transaction.atomic
def _claim(world: World) -> Any:
    return claim_all(world)


def _edit(world: World) -> Any:
    return patch(world.series, {"schedule": {"cron_expression": world.every_second_step}})


@transaction.atomic
def _finish(world: World) -> Any:
    """Record that the recurring task's attempt succeeded, and that the other failed for good."""
    series, single = (world.claimed[world.first_id(task)] for task in (world.series, world.single))
    succeeded = Finish(series.id, series.token, series.attempt + 1, "SUCCEEDED", "SUCCEEDED")
    failed = Finish(single.id, single.token, single.attempt + 1, "FAILED", "FAILED")
    why: dict[str, Any] = {"reason": "attempts_exhausted", "error_code": "refused"}
    return transitions.finish(
        [succeeded._replace(worker=WORKER), failed._replace(worker=WORKER, **why)]
    )


def _run_job(job: Any) -> bool:
    assert job is not None
    return run_some(job.id)


OPERATIONS: dict[str, Operation] = {
    "prepare": _prepare,
    "claim": _claim,
    "edit": _edit,
    "pause": lambda world: pause(world.series),
    "cancel": lambda world: cancel(world.series),
    "cancel execution": lambda world: cancel_execution(
        world.tenant.id, world.first_id(world.single), actor=ACTOR
    ),
    "delete": lambda world: delete(world.single),
    "finish": _finish,
    "rescue": lambda world: world.rescuer.run_once(),
    "expiry": lambda world: expiry.expire({**world.bounds, "first": NEVER}, 1000),
    "retention": lambda _: housekeeping.drop_old_days(),
    "backfill": lambda world: _run_job(world.backfill),
    "bulk": lambda world: _run_job(world.bulk),
    "standing pause": lambda world: stand(world.tenant),
}
