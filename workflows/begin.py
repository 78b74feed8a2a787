"""Begins runs at their instant: the scheduler of their partition, never a worker."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from executions.payloads import open_sealed_payload
from shared.encryption import DecryptionFailed
from shared.sql import run
from tasks.workflow.step_states import StepState
from workflows import transitions
from workflows.advance.records import RunEnd
from workflows.deadlines import deadline_of_run
from workflows.plan import Plan, plan_of
from workflows.sealed import seal_input

log = logging.getLogger("workflows.begin")


class _Begun(NamedTuple):
    """A run that has become RUNNING, as ``workflow_runs/begin`` returns it."""

    id: UUID
    tenant_id: UUID
    task_id: UUID
    version: int
    partition: int
    scheduled_for: datetime
    began_at: datetime
    sealed_payload: bytes | None
    #: Of a run that a step of another run began.
    run_id: UUID | None
    step: int | None
    item: int | None
    take: int | None
    trigger: str


class _Unreadable(NamedTuple):
    """A run that cannot begin, as :func:`workflows.transitions.end_runs` takes it."""

    id: UUID
    execution_id: UUID


def begin_due(partitions: Sequence[int], limit: int) -> list[UUID]:
    """Begin runs that are due in these partitions; return them for their first advance."""
    with transaction.atomic():
        found = [_Begun(*row) for row in transitions.begin_runs(partitions, limit)]
        begun = _without_unreadable(found)
        again = [one for one in begun if one.run_id is not None and one.step is None]
        first = [one for one in begun if one not in again]
        if first:
            _insert(first)
        if again:
            _begin_again(again)
    return [one.run_id if one in again and one.run_id else one.id for one in begun]


def _without_unreadable(begun: Sequence[_Begun]) -> list[_Begun]:
    """Return the runs whose definition and input can be opened; end the others as failed."""
    readable: list[_Begun] = []
    unreadable: list[RunEnd] = []
    for one in begun:
        try:
            plan_of(one.task_id, one.version)
            _input(one)
        except DecryptionFailed as wrong:
            log.error("run.unreadable", extra={"run_id": str(one.id), "reason": wrong.message})
            again = one.run_id is not None and one.step is None
            run_id = one.run_id if again and one.run_id else one.id
            unreadable.append(RunEnd(_Unreadable(run_id, one.id), "FAILED", "decryption_failed"))
        else:
            readable.append(one)
    if unreadable:
        transitions.end_runs(unreadable)
    return readable


def _begin_again(begun: Sequence[_Begun]) -> None:
    """Begin takes whose rows were written when they were asked for."""
    plans = [plan_of(one.task_id, one.version) for one in begun]
    run(
        "workflow_takes/begin_takes",
        {
            "runs": [one.run_id for one in begun],
            "takes": [one.take for one in begun],
            "began_at": [one.began_at for one in begun],
            "deadlines": [_deadline(one, plan) for one, plan in zip(begun, plans, strict=True)],
        },
    )


def _insert(begun: Sequence[_Begun]) -> None:
    plans = [plan_of(one.task_id, one.version) for one in begun]
    states = [_blank(plan) for plan in plans]
    run(
        "workflow_runs/insert",
        {
            "ids": [one.id for one in begun],
            "executions": [one.id for one in begun],
            "tenants": [one.tenant_id for one in begun],
            "tasks": [one.task_id for one in begun],
            "versions": [one.version for one in begun],
            "partitions": [one.partition for one in begun],
            "states": states,
            "takes": [bytes(len(state)) for state in states],
            "inputs": [_input(one) for one in begun],
            "scheduled_for": [one.scheduled_for for one in begun],
            "began_at": [one.began_at for one in begun],
            "deadlines": [_deadline(one, plan) for one, plan in zip(begun, plans, strict=True)],
            "parents": [one.run_id for one in begun],
            "parent_steps": [one.step for one in begun],
            "parent_items": [one.item for one in begun],
            "parent_takes": [one.take for one in begun],
        },
    )


def _blank(plan: Plan) -> bytes:
    return bytes([StepState.PENDING]) * plan.size


def _deadline(one: _Begun, plan: Plan) -> datetime:
    return deadline_of_run(plan.definition, one.scheduled_for, one.began_at)


def _input(one: _Begun) -> bytes | None:
    if one.sealed_payload is None:
        return None
    value = open_sealed_payload(one.sealed_payload, one.tenant_id, one.id)
    return seal_input(value, one.tenant_id, one.id)
