"""The answers that show runs of workflows, with their steps and the items of fan-outs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from executions.choices import RunPhase, Status
from executions.models import EndedWorkflowRun, WorkflowStep
from executions.payloads import open_sealed_payload
from executions.redacted_fields import Version, paths_of_versions
from insight.presentation.execution import error_or_none, instant_or_none
from insight.run_items import item_counts_of, items_of, items_with_status
from insight.run_waits import RunWait, waits_of
from insight.workflow_runs import (
    OpenStep,
    SeenRun,
    Take,
    Wait,
    attempts_of_steps,
    compensations_of,
    ends_of,
    find_take,
    open_status,
    outline_ends_of,
    see,
)
from shared.encryption import CANNOT_BE_OPENED, DecryptionFailed
from shared.payload_sight import hide
from tasks.versions import step_version
from tasks.workflow.step_states import ENDED, StepState
from workflows.sealed import open_input, open_output

#: Why a run that is under way begins no step, or only some.
_OF_PHASE = {
    RunPhase.PAUSED: "paused",
    RunPhase.FAILING: "step_failed",
    RunPhase.COMPENSATING: "compensating",
}


#: The reason of a run that a restore has paused; ``fence/pause_runs`` writes it.
RESTORED = "restored"


class _Opening:
    """Opens what is sealed, and notes whether something could not be opened.

    ``masked`` has the paths of the fields that are masked, by task and version.
    """

    def __init__(self, masked: Mapping[Version, list[str]]) -> None:
        self.is_whole = True
        self._masked = masked

    def paths_of(self, version: Version) -> Sequence[str]:
        """Return the paths of a version of a workflow, or of a step."""
        return self._masked.get(version, ())

    def value(self, opened: Callable[[], Any], redact: Sequence[str] = ()) -> Any:
        """Return what the function opens, its named fields masked; None where no key does."""
        try:
            return hide(opened(), redact)
        except DecryptionFailed:
            self.is_whole = False
            return None

    @property
    def missing(self) -> dict[str, str]:
        """Return the field ``missing`` where something is, else no field."""
        return {} if self.is_whole else {"missing": CANNOT_BE_OPENED}


def present_run(tenant_id: UUID, run_id: UUID) -> dict[str, Any]:
    """Return one of the tenant's runs with every step; raise NotFound."""
    return present_take(find_take(tenant_id, run_id))


def present_take(take: Take) -> dict[str, Any]:
    """Return the run of a take with every step, in a number of queries that is always the same."""
    [seen] = see([take])
    return present_seen(seen)


def present_seen(seen: SeenRun) -> dict[str, Any]:
    """Return a run that was read already, with every step."""
    return _whole(seen, ends_of(seen))


def present_outline(seen: SeenRun, shown: Collection[int]) -> dict[str, Any]:
    """Return the same for a page that shows some of the steps: short outputs, of these alone.

    ``output_bytes`` is the size of an output, 0 without one.
    """
    ends = outline_ends_of(seen, shown)
    answer = _whole(seen, ends)
    for number, step in zip(seen.steps, answer["steps"], strict=True):
        step["output_bytes"] = getattr(ends.get(number), "output_bytes", 0) or 0
    return answer


def _whole(seen: SeenRun, ends: Mapping[int, WorkflowStep]) -> dict[str, Any]:
    opening = _opening(seen)
    counts = item_counts_of(seen)
    attempts, undone = attempts_of_steps(ends.values()), compensations_of(seen)
    shown = _run(seen, opening)
    shown["steps"] = [
        _step(seen, number, ends.get(number), attempts, counts.get(number), opening)
        | {"compensation": _compensation(seen, number, undone.get(number))}
        for number in seen.steps
    ]
    return {**shown, **opening.missing}


def present_runs(takes: Sequence[Take]) -> list[dict[str, Any]]:
    """Return runs as lists show them: without their steps."""
    runs, shown = see(takes), []
    masked = paths_of_versions({_version(seen) for seen in runs})
    for seen in runs:
        opening = _Opening(masked)
        shown.append({**_run(seen, opening), **opening.missing})
    return shown


def present_step(seen: SeenRun, number: int) -> dict[str, Any]:
    """Return one step of a run as the answer with all of them shows it."""
    opening = _opening(seen)
    end, counts = ends_of(seen, number).get(number), item_counts_of(seen).get(number)
    attempts = attempts_of_steps([end] if end else [])
    shown = _step(seen, number, end, attempts, counts, opening)
    shown["compensation"] = _compensation(seen, number, compensations_of(seen).get(number))
    return {**shown, **opening.missing}


def present_items(seen: SeenRun, number: int, first: int, end: int) -> list[dict[str, Any]]:
    """Return the items of a fan-out from ``first`` on, before ``end``."""
    return _items(seen, number, range(first, end))


def present_items_with_status(
    seen: SeenRun, number: int, status: str, first: int, end: int
) -> list[dict[str, Any]]:
    """Return items that have a status: from the ``first`` of them on, before the ``end``."""
    return _items(seen, number, items_with_status(seen, number, status, first, end))


def _items(seen: SeenRun, number: int, items: Sequence[int]) -> list[dict[str, Any]]:
    opening = _opening(seen)
    ended, open_ = items_of(seen, number, items)
    attempts = attempts_of_steps(ended.values())
    return [
        _item(seen, number, item, ended.get(item), open_.get(item), attempts, opening)
        for item in items
    ]


def _run(seen: SeenRun, opening: _Opening) -> dict[str, Any]:
    take = seen.take
    execution = take.execution
    if seen.plan is None:
        opening.is_whole = False
    counts = Counter(seen.status(number) for number in seen.steps)
    return {
        "id": str(take.run_id),
        "take": take.number,
        "execution_id": str(execution.id),
        "workflow_id": str(execution.task_id),
        "workflow_version": execution.revision if take.row is None else take.row.version,
        "status": str(execution.status),
        "reason": _reason(take),
        "input": opening.value(partial(_input, take), opening.paths_of(_version(seen))),
        "scheduled_for": instant_or_none(execution.scheduled_for),
        "started_at": instant_or_none(execution.started_at),
        "finished_at": instant_or_none(execution.finished_at),
        "counts": dict(counts),
        "waiting_for": [_run_wait(wait) for wait in waits_of(seen)],
    }


def _opening(seen: SeenRun) -> _Opening:
    """Return what opens a run with its steps: their fields that are named now are masked, too."""
    steps = {_version_of_step(seen, number) for number in seen.steps}
    return _Opening(paths_of_versions({_version(seen), *steps}))


def _version(seen: SeenRun) -> Version:
    take = seen.take
    version = take.execution.revision if take.row is None else take.row.version
    return take.execution.task_id, version


def _version_of_step(seen: SeenRun, number: int) -> Version:
    task_id, version = _version(seen)
    return task_id, step_version(version, number)


def _run_wait(wait: RunWait) -> dict[str, Any]:
    return {**wait._asdict(), "until": instant_or_none(wait.until)}


def _reason(take: Take) -> str | None:
    row, execution = take.row, take.execution
    if execution.status != Status.RUNNING or row is None or isinstance(row, EndedWorkflowRun):
        return execution.reason or None
    if row.phase == RunPhase.CANCELLING:
        return row.reason or "cancel_requested"
    if row.phase == RunPhase.PAUSED and row.reason == RESTORED:
        return RESTORED
    return _OF_PHASE.get(RunPhase(row.phase))


def _input(take: Take) -> Any:
    if take.row is not None:
        return open_input(take.row.sealed_input, take.row.tenant_id, take.row.id)
    sealed = take.execution.sealed_payload
    if sealed is None:
        return None
    return open_sealed_payload(sealed, take.execution.tenant_id, take.execution.id)


def _step(
    seen: SeenRun,
    number: int,
    end: WorkflowStep | None,
    attempts: Mapping[UUID, int],
    counts: Mapping[str, int] | None,
    opening: _Opening,
) -> dict[str, Any]:
    shown = _blank(seen.steps[number]["key"], None, seen.status(number))
    if seen.fans_out(number):
        shown["counts"] = dict(counts or {})
    if seen.state(number) in ENDED or seen.is_to_undo(number):
        return shown | (_end(seen, number, end, attempts, opening) if end else {})
    if seen.state(number) is StepState.PENDING:
        is_over = shown["status"] != "PENDING"
        return shown | ({"reason": "not_begun"} if is_over else {})
    if number in seen.fans:
        return shown | {"started_at": instant_or_none(seen.fans[number].began_at)}
    if number in seen.waits:
        wait = seen.waits[number]
        began = instant_or_none(wait.began_at)
        return shown | {"started_at": began, "waiting_for": _wait(seen, wait)}
    return shown | (_under_way(seen.open[number]) if number in seen.open else {})


def _item(
    seen: SeenRun,
    number: int,
    item: int,
    end: WorkflowStep | None,
    open_: OpenStep | None,
    attempts: Mapping[UUID, int],
    opening: _Opening,
) -> dict[str, Any]:
    key, fan = seen.steps[number]["key"], seen.fans.get(number)
    if end is not None:
        ended = _end(seen, number, end, attempts, opening)
        return _blank(key, item, end.status) | ended
    if open_ is not None:
        return _blank(key, item, open_status(open_.status)) | _under_way(open_)
    if seen.state(number) is not StepState.OPEN:
        return _blank(key, item, "CANCELLED") | {"reason": "not_begun"}
    # Its end is recorded, and the run is about to be advanced.
    return _blank(key, item, "RUNNING" if fan and item < fan.begun else "PENDING")


def _blank(key: str, item: int | None, status: str) -> dict[str, Any]:
    return {
        "key": key,
        "item": item,
        "status": status,
        "reason": None,
        "execution_id": None,
        "attempt": None,
        "started_at": None,
        "finished_at": None,
        "output": None,
        "error": None,
        "waiting_for": None,
        "counts": None,
        "compensation": None,
    }


def _compensation(seen: SeenRun, number: int, end: WorkflowStep | None) -> dict[str, Any] | None:
    """Return what undoes a step, or has; None of a step that is not to be undone."""
    if not seen.is_to_undo(number):
        return None
    if seen.state(number) is StepState.COMPENSATING or end is None:
        open_ = seen.open.get(number)
        return {
            "status": open_status(open_.status) if open_ else "RUNNING",
            "execution_id": str(open_.id) if open_ else None,
            "started_at": instant_or_none(open_.started_at) if open_ else None,
            "finished_at": None,
            "error": None,
        }
    return {
        "status": end.status,
        "execution_id": str(end.execution_id) if end.execution_id else None,
        "started_at": instant_or_none(end.started_at),
        "finished_at": instant_or_none(end.finished_at),
        "error": error_or_none(end.error_code, end.error_message),
    }


def _end(
    seen: SeenRun,
    number: int,
    end: WorkflowStep,
    attempts: Mapping[UUID, int],
    opening: _Opening,
) -> dict[str, Any]:
    output = None
    if end.sealed_output is not None and not seen.steps[number].get("sensitive"):
        place = (end.tenant_id, end.run_id, number, end.item, end.take)
        redact = opening.paths_of(_version_of_step(seen, number))
        output = opening.value(partial(open_output, end.sealed_output, *place), redact)
    # Of a wait for an event it is the signal.
    calls = seen.steps[number]["kind"] != "wait_for_event"
    return {
        "reason": end.reason or None,
        "execution_id": str(end.execution_id) if end.execution_id and calls else None,
        "attempt": attempts.get(end.execution_id) if end.execution_id else None,
        "started_at": instant_or_none(end.started_at),
        "finished_at": instant_or_none(end.finished_at),
        "output": output,
        "error": error_or_none(end.error_code, end.error_message),
    }


def _under_way(open_: OpenStep) -> dict[str, Any]:
    return {
        "execution_id": str(open_.id),
        "attempt": open_.attempt,
        "started_at": instant_or_none(open_.started_at),
        "waiting_for": _waits_for(open_),
    }


def _waits_for(open_: OpenStep) -> dict[str, Any] | None:
    """Return what an execution that is not started waits for, where its row tells."""
    if open_.status not in (Status.PENDING, Status.RETRYING):
        return None
    if open_.held:
        return {"kind": "pause", "until": None}
    if open_.parked:
        return {"kind": "destination", "until": None}
    if open_.status == Status.RETRYING:
        return {"kind": "retry", "until": instant_or_none(open_.due_at)}
    return None


def _wait(seen: SeenRun, wait: Wait) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": wait.kind, "until": instant_or_none(wait.due_at)}
    if wait.kind == "event":
        return shown | {"event": wait.name, "correlation": hide(wait.correlation)}
    # Who decides names the take that the approval was shown for.
    return shown | ({"take": seen.take.number} if wait.kind == "approval" else {})
