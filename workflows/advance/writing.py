"""Writes what advances have changed, for all runs of a transaction at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from executions import run_signals
from shared.ids import step_id
from shared.notify import wake_schedulers_in, wake_stage_on_commit
from shared.sql import Asked, rows, run
from shared.sql_arrays import of_blobs, of_flags, of_integers, of_moments, of_texts, of_uuids
from workflows import transitions
from workflows.advance.ending import end_of
from workflows.advance.handing_on import PlacesLeft
from workflows.advance.records import NewWait, RunRow, StepEnd
from workflows.advance.run import Run
from workflows.signals import own_names


def write(runs: Sequence[Run], places: PlacesLeft | None = None) -> None:
    """Store the changes of locked runs; end those of which nothing is open.

    Steps that begin take the places that are given.
    """
    if not runs:
        return
    ends = _ends_of(runs)
    if any(one.changes.waits for one in runs):
        # A signal that has ended a step releases no later one: the search reads the ends.
        for asked in ends:
            run(*asked)
        ends = []
    _write_waits(runs)
    # The claim before the ends, which lock rows that all share until the transaction ends.
    claims = places.claiming(runs) if places else []
    claimed = transitions.begin_steps(
        [(one.row, one.plan, one.changes.begins) for one in runs],
        before=[*ends, *_fans_of(runs)],
        after=[_update_of(runs), *claims],
    )[1:]
    handed_on = places.take(claimed) if places else ()
    if over := [(one, status) for one in runs if (status := one.status) is not None]:
        transitions.end_runs([end_of(one, status) for one, status in over])
    if abandoned := [one.row for one in runs if one.abandoned]:
        transitions.archive_unbegun(abandoned)
    # The begin of a sub-workflow passes the gate; other stages find nothing new in the rest.
    if any(begin.child for one in runs for begin in one.changes.begins):
        wake_schedulers_in(0.0)
    elif any(begin.execution_id not in handed_on for one in runs for begin in one.changes.begins):
        wake_stage_on_commit("dispatch")
    if any(one.changes.waits for one in runs):
        wake_stage_on_commit("workflows")


def _update_of(runs: Sequence[Run]) -> Asked:
    return (
        "workflow_runs/update",
        {
            "ids": of_uuids([one.row.id for one in runs]),
            "phases": of_texts([str(one.phase) for one in runs]),
            "reasons": of_texts([one.reason for one in runs]),
            "states": of_blobs([bytes(one.states) for one in runs]),
            "takes": of_blobs([bytes(one.takes) for one in runs]),
            "ends": of_integers([one.ends for one in runs]),
            "first_failed": of_integers([one.first_failed for one in runs]),
            "quiet": of_flags([one.moves_quietly for one in runs]),
        },
    )


class StepPlace(NamedTuple):
    """Where the end of a step belongs: its run, and the take in which it ended."""

    run_id: UUID
    tenant_id: UUID
    take: int


def append_ends(found: Sequence[tuple[StepPlace, StepEnd]]) -> None:
    """Append ends of steps and of items; one that is there stays as it is."""
    if found:
        run(*_appending(found))


def _ends_of(runs: Sequence[Run]) -> list[Asked]:
    found = [
        (StepPlace(one.row.id, one.row.tenant_id, one.row.take), end)
        for one in runs
        for end in one.changes.ends
    ]
    return [_appending(found)] if found else []


def _appending(found: Sequence[tuple[StepPlace, StepEnd]]) -> Asked:
    failures = [end.failure for _, end in found]
    return (
        "workflow_runs/append_ends",
        {
            "ids": of_uuids(
                [step_id(one.run_id, end.step, end.item, one.take) for one, end in found]
            ),
            "runs": of_uuids([one.run_id for one, _ in found]),
            "tenants": of_uuids([one.tenant_id for one, _ in found]),
            "steps": of_integers([end.step for _, end in found]),
            "items": of_integers([end.item for _, end in found]),
            "takes": of_integers([one.take for one, _ in found]),
            "statuses": of_texts([end.status for _, end in found]),
            "reasons": of_texts([end.reason[:40] for _, end in found]),
            "places": of_integers([end.place for _, end in found]),
            "executions": of_uuids([end.execution_id for _, end in found]),
            "started_at": of_moments([end.started_at for _, end in found]),
            "finished_at": of_moments([end.finished_at for _, end in found]),
            "error_codes": of_texts([one.code[:30] if one else "" for one in failures]),
            "error_messages": of_texts([one.message[:1000] if one else "" for one in failures]),
            "actors": of_texts([end.actor for _, end in found]),
            "notes": of_texts([end.note for _, end in found]),
            "outputs": of_blobs([end.output for _, end in found]),
        },
    )


def _write_waits(runs: Sequence[Run]) -> None:
    settled = [(one.row.id, step) for one in runs for step in sorted(one.changes.settled)]
    if settled:
        columns = {"runs": [row[0] for row in settled], "steps": [row[1] for row in settled]}
        run("workflow_runs/delete_waits", columns)
    new = [(one.row, wait) for one in runs for wait in one.changes.waits]
    if new:
        # The race: a signal that comes in this moment looks for the wait before it is there.
        events = [(row, wait) for row, wait in new if wait.kind == "event"]
        own_names([(row.tenant_id, wait.name, wait.correlation) for row, wait in events])
        run(
            "workflow_runs/insert_waits",
            {
                "runs": [row.id for row, _ in new],
                "steps": [wait.step for _, wait in new],
                "items": [wait.item for _, wait in new],
                "kinds": [wait.kind for _, wait in new],
                "takes": [row.take for row, _ in new],
                "tenants": [row.tenant_id for row, _ in new],
                "partitions": [row.partition for row, _ in new],
                "seconds": [wait.seconds for _, wait in new],
                "due_at": [wait.due_at for _, wait in new],
                "names": [wait.name for _, wait in new],
                "correlations": [wait.correlation for _, wait in new],
            },
        )
        _look_for_earlier_signals(events)


def _look_for_earlier_signals(waiting: Sequence[tuple[RunRow, NewWait]]) -> None:
    if not waiting:
        return
    told = rows(
        "workflow_signals/tell_earlier",
        {
            "runs": [row.id for row, _ in waiting],
            "steps": [wait.step for _, wait in waiting],
            "takes": [row.take for row, _ in waiting],
            "tenants": [row.tenant_id for row, _ in waiting],
            "names": [wait.name for _, wait in waiting],
            "correlations": [wait.correlation for _, wait in waiting],
            "since": [row.began_at for row, _ in waiting],
            "earlier": [wait.earlier for _, wait in waiting],
        },
    )
    run_signals.tell([row[0] for row in told])


def _fans_of(runs: Sequence[Run]) -> list[Asked]:
    asked: list[Asked] = []
    over = [(one.row.id, step) for one in runs for step in sorted(one.changes.ended_fans)]
    if over:
        columns = {"runs": [row[0] for row in over], "steps": [row[1] for row in over]}
        asked.append(("workflow_runs/delete_fans", columns))
    found = [
        (one.row.id, step, one.fans[step])
        for one in runs
        for step in sorted(one.changes.fans)
        if step in one.fans
    ]
    if found:
        fans = [row.fan for _, _, row in found]
        columns = {
            "runs": [run_id for run_id, _, _ in found],
            "steps": [step for _, step, _ in found],
            "takes": [row.take for _, _, row in found],
            "totals": [fan.total for fan in fans],
            "begun": [fan.begun for fan in fans],
            "succeeded": [fan.succeeded for fan in fans],
            "failed": [fan.failed for fan in fans],
            "skipped": [fan.skipped for fan in fans],
            "began_at": [row.began_at for _, _, row in found],
            "items": [row.sealed_items for _, _, row in found],
        }
        asked.append(("workflow_runs/put_fans", columns))
    return asked
