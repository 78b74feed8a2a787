"""Apply a bulk job's action to its items.

Pausing, resuming, cancelling, deleting and setting fields take a batch of items in a few statements
(``verbs``, ``setting``), a backfill a thousand instants. Retries, runs and dead letters take many
items in one transaction, each in a savepoint, by the services for a single item. One audit write at
the end locks the audit chain for a moment, not for the whole step. Setting parts of a schedule goes
item by item, each in a transaction of its own.
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
from executions.bulk import backfill_steps, sealed_options, setting, verbs
from executions.bulk.items import Batch, Order, Result, refused
from executions.changes import cancellation, changing
from executions.choices import ItemOutcome
from executions.dead_letters import letters
from executions.models import BulkJob, DeadLetter, Execution
from executions.triggering import replay_into, triggers
from executions.triggering.triggers import Override
from shared.actor import Actor
from shared.encryption import open_json
from shared.exceptions import NotFound, QuotaExceeded, Unavailable
from shared.sealing_contexts import bulk_payload_context
from tasks.models import Task
from tasks.transitions import Pause

log = logging.getLogger("executions.services.bulk_actions")

#: How long one step refuses items of a tenant whose quota is full.
_REFUSALS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Applied:
    """An effect: the execution that it made, if any, and the change that is not audited yet."""

    result_id: UUID | None = None
    change: audit.Change | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """How one action is applied.

    With ``hold`` many items share a transaction: it locks their rows in a safe order, and ``apply``
    gets the value that it returns for an item. Without ``hold``, ``apply`` gets the item's id.
    """

    apply: Callable[[Order, Any], Applied]
    hold: Callable[[UUID, Sequence[UUID]], Mapping[UUID, Any]] | None = None


@dataclass(frozen=True, slots=True)
class SetAction:
    """How to apply an action that takes ``chunk`` items in a few statements."""

    apply: Callable[[BulkJob, Sequence[backfill_steps.Item]], list[Result]]
    chunk: int


@dataclass(frozen=True, slots=True)
class BatchAction:
    """How to apply an action to a batch of items in a fixed number of statements.

    ``apply`` takes any number of items and leaves auditing to the caller. ``alone`` applies the
    action to one item and audits it, for a batch that breaks on an unreadable item.
    """

    apply: Callable[[Order, Batch], None]
    alone: Callable[[Order, UUID], Applied]


def action_of(job: BulkJob) -> Action | SetAction | BatchAction:
    """Return how the job's action is applied."""
    if backfill_steps.is_backfill(job):
        return _BACKFILL
    if job.action == "set" and setting.goes_together(job.options.get("set", {})):
        return BatchAction(setting.set_together, _set_fields)
    return _ACTIONS[job.kind, job.action]


def order_of(job: BulkJob, now: datetime) -> Order:
    """Return the order for the job's steps, in the name of the job's creator.

    Raise DecryptionFailed where no key opens its payload.
    """
    override = None
    if job.sealed_payload is not None:
        context = bulk_payload_context(job.tenant_id, job.id)
        override = Override(open_json(bytes(job.sealed_payload), context))
    actor = Actor(job.created_by, job.address, job.trace_id, job.trace_context or "")
    return Order(job.id, job.tenant_id, actor, job.options, override, now)


def apply_to(
    action: Action, order: Order, item_ids: Sequence[UUID], deadline: float
) -> list[Result]:
    """Apply the action to the items in turn, at least to one, until the deadline.

    Runs in the caller's transaction. Raise database errors and Unavailable, on which the caller
    rolls everything back; any other error becomes that item's result.
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
        triggers.wake_for_made()
    audit.record_many(order.tenant_id, order.actor, changes)
    return results


def apply_together(action: BatchAction, order: Order, item_ids: Sequence[UUID]) -> list[Result]:
    """Apply the action to all items, or to some alone where that breaks; return the results.

    Runs in the caller's transaction. Raise database errors and Unavailable, on which the caller
    rolls everything back.
    """
    batch = Batch(item_ids)
    try:
        with transaction.atomic():
            action.apply(order, batch)
    except (DatabaseError, Unavailable):
        raise
    except QuotaExceeded:
        return _apply_until_done(Action(action.alone), order, item_ids)
    except Exception:
        # Find the item that broke it: take the items one by one, each by the single verb.
        log.exception(
            "bulk_batch.failed",
            extra={"job_id": str(order.job_id), "tenant_id": str(order.tenant_id)},
        )
        return apply_to(Action(action.alone), order, item_ids[:1], 0.0)
    audit.record_many(order.tenant_id, order.actor, batch.changes)
    return batch.results


def _apply_until_done(action: Action, order: Order, item_ids: Sequence[UUID]) -> list[Result]:
    """Apply the action to single items until one is done, or for a second.

    A refused item keeps no lock. A whole batch for each item that a full quota refuses would cost
    a batch's work each time.
    """
    deadline = time.monotonic() + _REFUSALS_SECONDS
    results: list[Result] = []
    for item_id in item_ids:
        results += apply_to(action, order, [item_id], 0.0)
        if results[-1].outcome == ItemOutcome.DONE or time.monotonic() >= deadline:
            break
    return results


def _apply_one(action: Action, order: Order, target: Any) -> tuple[Result, audit.Change | None]:
    if target is None:
        return Result(ItemOutcome.SKIPPED, NotFound.code, "It no longer exists."), None
    try:
        with transaction.atomic():
            applied = action.apply(order, target)
    except (DatabaseError, Unavailable):
        raise
    except Exception as error:  # noqa: BLE001 - reported as the item's result
        return refused(target, error), None
    return Result(ItemOutcome.DONE, result_id=applied.result_id), applied.change


def _hold_tasks(tenant_id: UUID, item_ids: Sequence[UUID]) -> Mapping[UUID, Task]:
    there = Task.objects.for_tenant(tenant_id).filter(pk__in=item_ids)
    locked = triggers.lock_tasks(there.values_list("id", flat=True))
    # A task may have been deleted while this waited for its lock.
    return {task.id: task for task in locked.values() if task.deleted_at is None}


def _hold_executions(
    tenant_id: UUID, item_ids: Sequence[UUID]
) -> Mapping[UUID, tuple[Execution, Task]]:
    locked = Execution.objects.for_tenant(tenant_id).held(item_ids)
    tasks = triggers.lock_tasks(row.task_id for row in locked)
    return {row.id: (row, tasks[row.task_id]) for row in locked}


def _retry_letter(order: Order, held: letters.Held) -> Applied:
    made = letters.begin_letter_retry(held, order.override, order.actor, order.now)
    return Applied(made.execution_id, made.change)


def _resolve_letter(order: Order, letter: DeadLetter) -> Applied:
    return _close(order, letter, order.options["resolution"])


def _archive_letter(order: Order, letter: DeadLetter) -> Applied:
    return _close(order, letter, "archived")


def _close(order: Order, letter: DeadLetter, resolution: str) -> Applied:
    note = order.options.get("note", "")
    return Applied(
        change=letters.close_letter(letter, resolution=resolution, note=note, actor=order.actor)
    )


def _purge_letter(order: Order, letter: DeadLetter) -> Applied:
    return Applied(change=letters.remove_letter(letter))


def _retry_execution(order: Order, held: tuple[Execution, Task]) -> Applied:
    made = triggers.begin_retry(*held, order.override, order.now, order.actor)
    return Applied(made.execution_id, made.change)


def _replay_execution(order: Order, held: tuple[Execution, Task]) -> Applied:
    into = sealed_options.into_of(order)
    if into is None:
        return _retry_execution(order, held)
    find_route = partial(replay_into.route_for, order.job_id, held[1], into, order.actor)
    made = triggers.begin_replay(*held, find_route, order.now, order.actor)
    facts = {**(made.change.after or {}), "into": sealed_options.readable_place(into)}
    return Applied(made.execution_id, replace(made.change, after=facts))


def _run_task(order: Order, task: Task) -> Applied:
    made = triggers.begin_run(task, order.override, order.now, order.actor)
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
    patch = setting.patch_of(order)
    setting.set_fields(order.tenant_id, item_id, patch, order.actor)
    return Applied()


def _backfill(job: BulkJob, items: Sequence[backfill_steps.Item]) -> list[Result]:
    refusal = backfill_steps.make_executions(job, items)
    if refusal:
        message = backfill_steps.REFUSALS[refusal]
        return [Result(ItemOutcome.SKIPPED, refusal, message)] * len(items)
    return [Result(ItemOutcome.DONE, result_id=made) for _, made, _ in items]


_BACKFILL = SetAction(_backfill, backfill_steps.CHUNK)
_ACTIONS: Mapping[tuple[str, str], Action | BatchAction] = {
    ("dead_letters", "retry"): Action(_retry_letter, letters.hold_letters),
    ("dead_letters", "resolve"): Action(_resolve_letter, letters.lock_letters),
    ("dead_letters", "archive"): Action(_archive_letter, letters.lock_letters),
    ("dead_letters", "purge"): Action(_purge_letter, letters.lock_letters),
    ("executions", "retry"): Action(_retry_execution, _hold_executions),
    ("executions", "replay"): Action(_replay_execution, _hold_executions),
    ("executions", "cancel"): BatchAction(verbs.cancel_executions, _cancel_execution),
    ("tasks", "run"): Action(_run_task, _hold_tasks),
    ("tasks", "pause"): BatchAction(verbs.pause_tasks, _pause_task),
    ("tasks", "resume"): BatchAction(verbs.resume_tasks, _resume_task),
    ("tasks", "cancel"): BatchAction(verbs.cancel_tasks, _cancel_task),
    ("tasks", "delete"): BatchAction(verbs.delete_tasks, _delete_task),
    ("tasks", "set"): Action(_set_fields),
}
