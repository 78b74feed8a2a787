"""Reads what an advance needs of locked runs, for all of them at once."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from shared.encryption import DecryptionFailed
from shared.ids import first_id_at, moment_of
from shared.sql import Done, rows, together
from shared.sql_arrays import of_flags, of_uuids
from tasks.workflow.fans import Fan
from workflows.advance.records import Ended, FanRow, RunRow, Told, Waiting
from workflows.plan import Plan
from workflows.sealed import open_items, open_signal

log = logging.getLogger("workflows.advance")

#: How far the ids of a run's steps reach: they have the time of their run.
MILLISECOND = timedelta(milliseconds=1)
_FANS, _WAITS = "workflow_runs/fans", "workflow_runs/waits"
_OUTPUTS = "workflow_runs/outputs"


class UnderWay(NamedTuple):
    """What is under way in locked runs, and what they have put out, by run and step."""

    fans: Mapping[UUID, dict[int, FanRow]]
    waits: Mapping[UUID, dict[int, list[Waiting]]]
    #: Sealed.
    outputs: Mapping[UUID, dict[int, bytes]]


def lock(run_ids: Sequence[UUID]) -> list[RunRow]:
    """Lock runs in order of their ids, and return them as they are once they are locked."""
    if not run_ids:
        return []
    runs = {"runs": of_uuids(run_ids)}
    asked = ("workflow_runs/lock", runs), ("workflow_runs/read", runs)
    # In one round trip: the second statement sees what the first one has waited for.
    locked, read = together(*asked)
    ids = {row[0] for row in locked.rows}
    return [
        RunRow(*row)._replace(states=bytes(row[9]), takes=bytes(row[10]))
        for row in read.rows
        # The race: one that came back between the two is not locked.
        if row[0] in ids
    ]


def take_inbox(
    runs: Sequence[RunRow], plans: Mapping[UUID, Plan], limit: int
) -> tuple[list[Told], UnderWay]:
    """Take what has happened to locked runs, at most ``limit``, the oldest first.

    Return also what is under way in them.
    """
    inbox = {"runs": of_uuids([run.id for run in runs]), "limit": limit}
    asked = _asking(runs, plans)
    taken, *found = together(("workflow_runs/take_inbox", inbox), *asked.items())
    told = [Told(*row) for row in taken.rows]
    return told, _under_way(runs, plans, dict(zip(asked, found, strict=True)))


def under_way(runs: Sequence[RunRow], plans: Mapping[UUID, Plan]) -> UnderWay:
    """Return what is under way in locked runs."""
    asked = _asking(runs, plans)
    found = together(*asked.items())
    return _under_way(runs, plans, dict(zip(asked, found, strict=True)))


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
        "ids": of_uuids(wanted),
        "named": of_flags(wanted.values()),
        "low": low,
        "high": high,
    }
    return {
        row[0]: Ended._make((*row[:7], _bytes(row[7]), _bytes(row[8])))
        for row in rows("workflow_runs/ended", parameters)
    }


def _asking(runs: Sequence[RunRow], plans: Mapping[UUID, Plan]) -> dict[str, dict[str, Any]]:
    """Return the statements that read what is under way; what no run can have is not asked."""
    asked: dict[str, dict[str, Any]] = {_WAITS: {"runs": of_uuids([run.id for run in runs])}}
    if with_fans := [run.id for run in runs if plans[run.id].has_fans]:
        asked[_FANS] = {"runs": of_uuids(with_fans)}
    if named := [run.id for run in runs if plans[run.id].named or run.parent_run]:
        asked[_OUTPUTS] = {"runs": of_uuids(named), **bounds(named)}
    return asked


def _under_way(
    runs: Sequence[RunRow], plans: Mapping[UUID, Plan], done: Mapping[str, Done]
) -> UnderWay:
    fans, waits, outputs = (
        done[path].rows if path in done else () for path in (_FANS, _WAITS, _OUTPUTS)
    )
    return UnderWay(_fans(runs, plans, fans), _waits(waits), _outputs(outputs))


def _fans(
    runs: Sequence[RunRow], plans: Mapping[UUID, Plan], read: Iterable[tuple[Any, ...]]
) -> dict[UUID, dict[int, FanRow]]:
    found: dict[UUID, dict[int, FanRow]] = defaultdict(dict)
    tenants = {run.id: run.tenant_id for run in runs}
    for run_id, step, take, *counts, began_at, sealed in read:
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


def _waits(read: Iterable[tuple[Any, ...]]) -> dict[UUID, dict[int, list[Waiting]]]:
    found: dict[UUID, dict[int, list[Waiting]]] = defaultdict(lambda: defaultdict(list))
    for row in read:
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


def _outputs(read: Iterable[tuple[Any, ...]]) -> dict[UUID, dict[int, bytes]]:
    found: dict[UUID, dict[int, bytes]] = defaultdict(dict)
    for run_id, step, sealed in read:
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
