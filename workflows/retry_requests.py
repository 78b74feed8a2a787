"""Retries of runs that are still open: cancelled first, and begun when they have ended.

The wish is a row of ``workflow_retries`` from the cancel on until the take is there. So a process
that dies meanwhile loses none: the repair pass begins the takes of runs that have ended.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions.models import WorkflowRun
from executions.triggering.triggers import Override, require_portable
from shared.actor import Actor
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, PunctualError
from shared.sql import rows, run
from tasks.models import Task
from workflows.control import Scope, cancel_run
from workflows.plan import plan_of
from workflows.retrying import (
    Retry,
    check_override,
    number_of,
    require_takes_left,
    require_there,
    retry_run,
)
from workflows.sealed import open_retry, seal_retry

log = logging.getLogger("workflows.retrying")

_AT_ONCE = 100


def request_retry(tenant_id: UUID, run_id: UUID, retry: Retry, *, actor: Actor) -> int:
    """Begin the next take of a run; return its number. Raise as :func:`retry_run`.

    With ``cancel_running``, an open run is cancelled first, and the take begins when what runs has
    ended. A later cancel of the run takes the wish back.
    """
    live = WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).first()
    if live is None or not retry.cancel_running:
        return retry_run(tenant_id, run_id, retry, actor=actor)
    try:
        _cancel_first(live, retry, actor)
    except Conflict as refused:
        if refused.code != "already_final":
            raise
        # It has ended meanwhile.
        return retry_run(tenant_id, run_id, retry, actor=actor)
    return live.take + 1


def begin_wanted(run_ids: Sequence[UUID]) -> None:
    """Begin the takes that wait for the end of these runs, as far as they have ended."""
    _begin(rows("workflow_takes/wanted_of", {"runs": list(run_ids)}))


def begin_wanted_in(partitions: Sequence[int]) -> None:
    """Begin the takes that wait for the end of runs of these partitions."""
    _begin(rows("workflow_takes/wanted_in", {"partitions": list(partitions), "limit": _AT_ONCE}))


@transaction.atomic
def _cancel_first(live: WorkflowRun, retry: Retry, actor: Actor) -> None:
    _refuse_early(live, retry)
    cancel_run(live.tenant_id, live.pk, Scope(), actor=actor)
    wish = {
        "key": retry.key,
        "latest": retry.latest,
        "input": None if retry.override is None else [retry.override.payload],
        "actor": asdict(actor),
    }
    run(
        "workflow_takes/want",
        {
            "run": live.pk,
            "tenant": live.tenant_id,
            "partition": live.partition,
            "sealed": seal_retry(wish, live.tenant_id, live.pk),
        },
    )
    # Behind the callback that takes back what is open: then the run may have ended.
    transaction.on_commit(lambda: begin_wanted([live.pk]), robust=True)


def _refuse_early(live: WorkflowRun, retry: Retry) -> None:
    """Raise what the take would be refused for, before anything is cancelled."""
    require_portable(retry.override)
    require_takes_left(live.take)
    task = Task.objects.get(pk=live.task_id)
    require_there(task)
    if retry.key is not None:
        number_of(plan_of(live.task_id, task.version if retry.latest else live.version), retry.key)
    if retry.override is not None:
        check_override(task, retry.override)


def _begin(found: Sequence[tuple[Any, ...]]) -> None:
    for run_id, tenant_id in found:
        try:
            _begin_one(run_id, tenant_id)
        except DecryptionFailed:
            # It waits until its key is back in the configuration.
            log.error("run_retry.unreadable", extra={"run_id": str(run_id)})


@transaction.atomic
def _begin_one(run_id: UUID, tenant_id: UUID) -> None:
    taken = rows("workflow_takes/take_wanted", {"run": run_id})
    if not taken:
        return
    wish = open_retry(taken[0][0], tenant_id, run_id)
    override = None if wish["input"] is None else Override(wish["input"][0])
    retry = Retry(wish["key"], wish["latest"], override, cancel_running=True)
    actor = Actor(**wish["actor"])
    try:
        with transaction.atomic():
            retry_run(tenant_id, run_id, retry, actor=actor)
    except PunctualError as refused:
        # For example all has succeeded before it could be cancelled.
        facts = {"code": refused.code, "from": retry.key or "failed"}
        change = audit.Change("run.retry_refused", "run", run_id, after=facts)
        audit.record_many(tenant_id, actor, [change])
