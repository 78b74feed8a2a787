"""Applying a bulk job's action to its items, by the services that act on a single one.

What only touches rows goes through many items in one transaction, each in a savepoint, with one
audit write at the end: the audit chain is held for a moment, not for the whole step. What takes
work back from workers goes item by item, each in the caller's transaction of its own. A backfill
takes a thousand instants in a few statements.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from events import audit
from executions.choices import ItemOutcome
from executions.models import BulkJob, DeadLetter, Execution
from executions.services import (
    backfill_steps,
    bulk_setting,
    cancellation,
    changing,
    dead_letters,
    replay_into,
    triggering,
)
from executions.services.triggering import Override
from shared.actor import Actor
from shared.encryption import open_json, seal_json
from shared.exceptions import Conflict, InvalidInput, NotFound, PunctualError, Unavailable
from tasks.models import Task
from tasks.services import Pause

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """What a step is to do, opened from its job once."""

    job_id: UUID
    tenant_id: UUID
    actor: Actor
    options: Mapping[str, Any]
    override: Override | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Applied:
    """An effect: the execution that it made, if any, and what is still to be audited."""

    result_id: UUID | None = None
    change: audit.Change | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one item."""

    outcome: str
    code: str = ""
    message: str = ""
    result_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """How one action is applied.

    With ``hold`` many items share a transaction: it locks their rows in a safe order, and what
    it returns of an item is what ``apply`` acts on. Without, ``apply`` is given the item's id.
    """

    apply: Callable[[Order, Any], Applied]
    hold: Callable[[UUID, Sequence[UUID]], Mapping[UUID, Any]] | None = None


@dataclass(frozen=True, slots=True)
class SetAction:
    """How an action is applied that takes ``chunk`` items in a few statements."""

    apply: Callable[[BulkJob, Sequence[backfill_steps.Item]], list[Result]]
    chunk: int


def action_of(job: BulkJob) -> Action | SetAction:
    """Return how the job's action is applied."""
    if backfill_steps.is_backfill(job):
        return _BACKFILL
    return _ACTIONS[job.kind, job.action]


def order_of(job: BulkJob, now: datetime) -> Order:
    """Return what the job's steps are to do, in the name of who made it.

    Raise DecryptionFailed where no key opens its payload.
    """
    override = None
    if job.sealed_payload is not None:
        override = Override(open_json(bytes(job.sealed_payload), _payload_context(job.id)))
    actor = Actor(job.created_by, job.address, job.trace_id, job.trace_context or "")
    return Order(job.id, job.tenant_id, actor, job.options, override, now)


def seal_job_payload(payload: Any, job_id: UUID) -> bytes:
    """Return the payload that a job's executions send, encrypted and bound to the job."""
    return seal_json(payload, _payload_context(job_id))


def apply_to(
    action: Action, order: Order, item_ids: Sequence[UUID], deadline: float
) -> list[Result]:
    """Apply the action to the items in turn, at least to one, until the deadline.

    Runs in the caller's transaction. Database errors and Unavailable go on to the caller, who
    rolls everything back; any other error is that item's result.
    """
    held = action.hold(order.tenant_id, item_ids) if action.hold else None
    results: list[Result] = []
    changes: list[audit.Change] = []
    made = False
    for item_id in item_ids:
        target = item_id if held is None else held.get(item_id)
        result, change = _apply_one(action, order, target)
        results.append(result)
        changes += [change] if change else []
        made = made or result.result_id is not None
        if time.monotonic() >= deadline:
            break
    if made:
        triggering.wake_for_made()
    audit.record_many(order.tenant_id, order.actor, changes)
    return results


def _apply_one(action: Action, order: Order, target: Any) -> tuple[Result, audit.Change | None]:
    if target is None:
        return Result(ItemOutcome.SKIPPED, NotFound.code, "It is not there any more."), None
    try:
        with transaction.atomic():
            applied = action.apply(order, target)
    except (DatabaseError, Unavailable):
        raise
    except (Conflict, NotFound) as error:
        return Result(ItemOutcome.SKIPPED, error.code, error.message[:200]), None
    except InvalidInput as error:
        message = error.errors[0].message if error.errors else error.message
        return Result(ItemOutcome.FAILED, error.code, message[:200]), None
    except PunctualError as error:
        return Result(ItemOutcome.FAILED, error.code, error.message[:200]), None
    except Exception:
        # One item that cannot be read must not keep all others from their turn for ever.
        log.exception("bulk_item_failed", extra={"item": str(target)})
        return Result(ItemOutcome.FAILED, "internal", "See the log."), None
    return Result(ItemOutcome.DONE, result_id=applied.result_id), applied.change


def _payload_context(job_id: UUID) -> bytes:
    return f"bulk_job:{job_id}".encode()


def _hold_tasks(tenant_id: UUID, item_ids: Sequence[UUID]) -> Mapping[UUID, Task]:
    there = Task.objects.for_tenant(tenant_id).filter(pk__in=item_ids)
    locked = triggering.lock_tasks(there.values_list("id", flat=True))
    # One may have been deleted while its lock was waited for.
    return {task.id: task for task in locked.values() if task.deleted_at is None}


def _hold_executions(
    tenant_id: UUID, item_ids: Sequence[UUID]
) -> Mapping[UUID, tuple[Execution, Task]]:
    locked = Execution.objects.for_tenant(tenant_id).held(item_ids)
    tasks = triggering.lock_tasks(row.task_id for row in locked)
    return {row.id: (row, tasks[row.task_id]) for row in locked}


def _retry_letter(order: Order, held: dead_letters.Held) -> Applied:
    made = dead_letters.begin_letter_retry(held, order.override, order.actor, order.now)
    return Applied(made.execution_id, made.change)


def _resolve_letter(order: Order, letter: DeadLetter) -> Applied:
    return _close(order, letter, order.options["resolution"])


def _archive_letter(order: Order, letter: DeadLetter) -> Applied:
    return _close(order, letter, "archived")


def _close(order: Order, letter: DeadLetter, resolution: str) -> Applied:
    note = order.options.get("note", "")
    return Applied(
        change=dead_letters.close_letter(
            letter, resolution=resolution, note=note, actor=order.actor
        )
    )


def _purge_letter(order: Order, letter: DeadLetter) -> Applied:
    return Applied(change=dead_letters.remove_letter(letter))


def _retry_execution(order: Order, held: tuple[Execution, Task]) -> Applied:
    made = triggering.begin_retry(*held, order.override, order.now, order.actor)
    return Applied(made.execution_id, made.change)


def _replay_execution(order: Order, held: tuple[Execution, Task]) -> Applied:
    into = order.options.get("into")
    if into is None:
        return _retry_execution(order, held)
    find_route = partial(replay_into.route_for, order.job_id, held[1], into, order.actor)
    made = triggering.begin_replay(*held, find_route, order.now, order.actor)
    facts = {**(made.change.after or {}), "into": into}
    return Applied(made.execution_id, replace(made.change, after=facts))


def _run_task(order: Order, task: Task) -> Applied:
    made = triggering.begin_run(task, order.override, order.now, order.actor)
    return Applied(made.execution_id, made.change)


def _cancel_execution(order: Order, item_id: UUID) -> Applied:
    cancellation.cancel_execution(order.tenant_id, item_id, actor=order.actor)
    return Applied()


def _pause_task(order: Order, item_id: UUID) -> Applied:
    pause = Pause(note=order.options.get("note", ""))
    changing.pause_task(order.tenant_id, item_id, pause, actor=order.actor)
    return Applied()


def _resume_task(order: Order, item_id: UUID) -> Applied:
    changing.resume_task(order.tenant_id, item_id, actor=order.actor)
    return Applied()


def _cancel_task(order: Order, item_id: UUID) -> Applied:
    changing.cancel_task(order.tenant_id, item_id, actor=order.actor)
    return Applied()


def _delete_task(order: Order, item_id: UUID) -> Applied:
    changing.delete_task(order.tenant_id, item_id, actor=order.actor)
    return Applied()


def _set_fields(order: Order, item_id: UUID) -> Applied:
    # What is sealed with a job of this action is its patch.
    patch = order.override.payload if order.override else {}
    bulk_setting.set_fields(order.tenant_id, item_id, patch, order.actor)
    return Applied()


def _backfill(job: BulkJob, items: Sequence[backfill_steps.Item]) -> list[Result]:
    refusal = backfill_steps.make_executions(job, items)
    if refusal:
        message = backfill_steps.REFUSALS[refusal]
        return [Result(ItemOutcome.SKIPPED, refusal, message)] * len(items)
    return [Result(ItemOutcome.DONE, result_id=made) for _, made, _ in items]


_BACKFILL = SetAction(_backfill, backfill_steps.CHUNK)
_ACTIONS: Mapping[tuple[str, str], Action] = {
    ("dead_letters", "retry"): Action(_retry_letter, dead_letters.hold_letters),
    ("dead_letters", "resolve"): Action(_resolve_letter, dead_letters.lock_letters),
    ("dead_letters", "archive"): Action(_archive_letter, dead_letters.lock_letters),
    ("dead_letters", "purge"): Action(_purge_letter, dead_letters.lock_letters),
    ("executions", "retry"): Action(_retry_execution, _hold_executions),
    ("executions", "replay"): Action(_replay_execution, _hold_executions),
    ("executions", "cancel"): Action(_cancel_execution),
    ("tasks", "run"): Action(_run_task, _hold_tasks),
    ("tasks", "pause"): Action(_pause_task),
    ("tasks", "resume"): Action(_resume_task),
    ("tasks", "cancel"): Action(_cancel_task),
    ("tasks", "delete"): Action(_delete_task),
    ("tasks", "set"): Action(_set_fields),
}
