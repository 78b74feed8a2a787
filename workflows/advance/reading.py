"""Reads what an advance needs of locked runs, for all of them at once."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from shared.encryption import DecryptionFailed
from shared.ids import first_id_at, moment_of
from shared.sql import rows
from tasks.workflow.fans import Fan
from workflows.advance.records import Ended, FanRow, RunRow, Told, Waiting
from workflows.plan import Plan
from workflows.sealed import open_items, open_signal

log = logging.getLogger("workflows.advance")

#: How far the ids of a run's steps reach: they have the time of their run.
MILLISECOND = timedelta(milliseconds=1)


def lock(run_ids: Sequence[UUID]) -> list[RunRow]:
    """Lock runs in order of their ids, and return them as they are once they are locked."""
    found = [row[0] for row in rows("workflow_runs/lock", {"runs": list(run_ids)})]
    if not found:
        return []
    return [
        RunRow(*row)._replace(states=bytes(row[9]), takes=bytes(row[10]))
        for row in rows("workflow_runs/read", {"runs": found})
    ]


def take_inbox(runs: Sequence[RunRow], limit: int) -> list[Told]:
    """Take what has happened to locked runs, at most ``limit``, the oldest first."""
    parameters = {"runs": [run.id for run in runs], "limit": limit}
    return [Told(*row) for row in rows("workflow_runs/take_inbox", parameters)]


def ended(told: Iterable[Told], named: Mapping[UUID, Collection[int]]) -> dict[UUID, Ended]:
    """Return the facts of the executions that have ended, by their ids.

    ``named`` are the steps of each run whose output is kept.
    """
    wanted = {
        one.execution_id: one.step in named[one.run_id]
        for one in told
        if one.kind == "ended" and one.execution_id is not None and one.run_id in named
    }
    if not wanted:
        return {}
    low = first_id_at(moment_of(min(wanted)))
    high = first_id_at(moment_of(max(wanted)) + MILLISECOND)
    parameters = {
        "ids": list(wanted),
        "named": list(wanted.values()),
        "low": low,
        "high": high,
    }
    return {
        row[0]: Ended._make((*row[:7], _bytes(row[7]), _bytes(row[8])))
        for row in rows("workflow_runs/ended", parameters)
    }


def fans(runs: Sequence[RunRow], plans: Mapping[UUID, Plan]) -> dict[UUID, dict[int, FanRow]]:
    """Return the fan-outs under way of locked runs, by run and step."""
    found: dict[UUID, dict[int, FanRow]] = defaultdict(dict)
    if not runs:
        return found
    tenants = {run.id: run.tenant_id for run in runs}
    for run_id, step, take, *counts, began_at, sealed in rows(
        "workflow_runs/fans", {"runs": [run.id for run in runs]}
    ):
        if run_id not in plans:
            continue
        definition = plans[run_id].steps[step]
        total, begun, succeeded, failed, skipped = counts
        fan = Fan(
            total=total,
            max_parallel=definition["max_parallel"],
            min_success_share=definition["min_success_share"],
            begun=begun,
            succeeded=succeeded,
            failed=failed,
            skipped=skipped,
        )
        items = partial(open_items, sealed, tenants[run_id], run_id, step)
        found[run_id][step] = FanRow(take, fan, items, began_at)
    return found


def waits(runs: Sequence[RunRow]) -> dict[UUID, dict[int, list[Waiting]]]:
    """Return what steps of locked runs wait for, by run and step."""
    found: dict[UUID, dict[int, list[Waiting]]] = defaultdict(lambda: defaultdict(list))
    for row in rows("workflow_runs/waits", {"runs": [run.id for run in runs]}):
        wait = Waiting(*row)
        found[wait.run_id][wait.step].append(wait)
    return found


def signals(told: Iterable[Told]) -> dict[UUID, Any]:
    """Return what signals have brought, by their ids; null of one that no key opens."""
    wanted = [one.execution_id for one in told if one.kind == "signal"]
    found: dict[UUID, Any] = {}
    for signal_id, tenant_id, sealed in (
        rows("workflow_signals/read", {"ids": wanted}) if wanted else ()
    ):
        try:
            found[signal_id] = open_signal(sealed, tenant_id, signal_id)
        except DecryptionFailed:
            log.error("signal.unreadable", extra={"signal_id": str(signal_id)})
    return found


def outputs(runs: Sequence[RunRow]) -> dict[UUID, dict[int, bytes]]:
    """Return the sealed outputs of ended steps of locked runs, by run and step."""
    found: dict[UUID, dict[int, bytes]] = defaultdict(dict)
    if runs:
        ids = [run.id for run in runs]
        parameters = {"runs": ids, **bounds(ids)}
        for run_id, step, sealed in rows("workflow_runs/outputs", parameters):
            found[run_id][step] = bytes(sealed)
    return found


def size_of_items(run_id: UUID, step: int, row: FanRow) -> tuple[int, int]:
    """Return how many outputs of a fan-out's items are kept, and their bytes as they are sealed."""
    parameters = _of_items(run_id, step, row)
    [(count, size)] = rows("workflow_runs/size_of_items", parameters)
    return count, size


def outputs_of_items(run_id: UUID, step: int, row: FanRow) -> list[tuple[int, int, bytes | None]]:
    """Return items of a fan-out that have an output, with the take that it is of, and sealed."""
    return [
        (item, take, _bytes(sealed))
        for item, take, sealed in rows(
            "workflow_runs/outputs_of_items", _of_items(run_id, step, row)
        )
    ]


def _of_items(run_id: UUID, step: int, row: FanRow) -> dict[str, Any]:
    takes = [row.take, row.kept_of] if row.kept_of else [row.take]
    return {"run": run_id, "step": step, "takes": takes, **bounds([run_id])}


def ends_in_order(run_id: UUID) -> list[tuple[int, int, str]]:
    """Return step, take and error code of the ends of a run's steps, the last first."""
    parameters = {"run": run_id, **bounds([run_id])}
    return [
        (step, take, code) for step, take, code in rows("workflow_runs/ends_in_order", parameters)
    ]


def bounds(run_ids: Sequence[UUID]) -> dict[str, UUID]:
    """Return the bounds of the ids of these runs' steps, which have the time of their run."""
    return {
        "low": first_id_at(moment_of(min(run_ids))),
        "high": first_id_at(moment_of(max(run_ids)) + MILLISECOND),
    }


def _bytes(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
