"""Checks of workflows: the run that a step belongs to, and what a run under way waits for."""

from __future__ import annotations

from collections.abc import Iterator

from executions.choices import RunPhase, Status
from executions.models import Execution, WorkflowRun
from insight.explain import delivery_checks, destination_checks, engine_checks, pool_checks
from insight.explain.answer import Check, Fix, spell, told
from insight.explain.evidence import Situation
from insight.run_part import RunPart
from insight.run_waits import RunWait, waits_of, waits_text
from insight.workflow_runs import SeenRun, find_take, number_of, see
from shared.payload_sight import hide
from tasks.models import Pause
from tasks.standing_pauses import covers_place, describe
from tenants.quotas.limits import TENANT_LIMIT

#: Steps of which it is told in a sentence each what they wait for.
_TOLD = 5
#: A step that waits for one of these goes on when a person or another system acts.
_NEEDS_HELP = frozenset({"approval", "event", "pause", "destination"})
_PHASES = {
    RunPhase.FAILING: "a step of the run has failed: only steps for failures begin",
    RunPhase.CANCELLING: "the run is being cancelled: it begins no step",
    RunPhase.COMPENSATING: "the run has failed, and undoes what has succeeded, the last step first",
}
#: What can keep a call of a step from starting, in order.
_ON_THE_WAY = (
    engine_checks.retry,
    pool_checks.pool,
    delivery_checks.redis,
    destination_checks.destination,
    delivery_checks.workers,
    delivery_checks.lease,
)


def run(found: Situation) -> Check:
    """Name the run of a step; of a run, judge whether it may begin steps."""
    part, row = found.part, found.run_row
    if part is None:
        return Check("run", None, "it is no part of a workflow's run")
    if part.is_step:
        return _of_step(part, row)
    if row is None or found.status != Status.RUNNING:
        return Check("run", None, "the run has ended" if found.final else "the run has not begun")
    if row.phase == RunPhase.PAUSED:
        call = f"POST /v1/workflow-runs/{part.run_id}/resume"
        fix = Fix("Resume the run.", call, "workflow_run", part.run_id)
        more = "Steps under way continue, and so do deadlines."
        return Check("run", False, "the run is paused: it begins no step", more, fix)
    if row.phase in _PHASES:
        return Check("run", None, _PHASES[RunPhase(row.phase)])
    says = f"take {row.take} of the run is under way, for {spell(found.now - row.began_at)}"
    return Check("run", True, says)


def _of_step(part: RunPart, row: WorkflowRun | None) -> Check:
    item = "" if part.item is None else f", item {part.item},"
    what = "what undoes the step" if part.undoes else "the step"
    says = f"it is {what} {part.key or '(unreadable)'}{item} of the run {part.run_id}"
    more = ""
    if row is not None and row.phase in _PHASES:
        more = f"{_PHASES[RunPhase(row.phase)].capitalize()}."
    elif row is not None and row.phase == RunPhase.PAUSED:
        more = "The run is paused; a step that has begun continues."
    call = f"GET /v1/workflow-runs/{part.run_id}"
    return Check("run", True, says, more, Fix("Open the run.", call, "workflow_run", part.run_id))


def step_active(found: Situation) -> Check:
    """Judge whether a pause holds a step: only one of its tenant, pool or destination does."""
    row = found.row
    if row is None or not row.held or row.gated or row.reason == TENANT_LIMIT:
        return Check(
            "task_active", True, "a pause of the workflow does not hold steps of open runs"
        )
    for pause in Pause.objects.for_tenant(found.task.tenant_id).open():
        if covers_place(pause.scope, pause.value, row.pool, row.destination):
            until = f" until {told(pause.until)}" if pause.until else ""
            says = f"a standing pause of {describe(pause.scope, pause.value)} holds it{until}"
            fix = Fix("End the standing pause.", f"POST /v1/pauses/{pause.pk}/end", "pauses")
            return Check("task_active", False, says, fix=fix, until=pause.until)
    return Check("task_active", False, "it is on hold, as after a pause that has ended")


def steps(found: Situation) -> Check:
    """Judge what the run waits for: the steps under way, and what each of them waits for."""
    seen = seen_run(found)
    if seen is None:
        says = "the steps have ended" if found.final else "its steps follow when it has begun"
        return Check("steps", None, says)
    waits = [wait for wait in waits_of(seen) if wait.step is not None]
    if not waits:
        return Check("steps", None, "no step is under way; the run is about to go on", not_yet=True)
    says = f"the run waits for: {waits_text(waits)}"
    more = " ".join(_sentence(found, seen, wait) for wait in waits[:_TOLD])
    stuck = [wait for wait in waits if wait.kind in _NEEDS_HELP]
    soonest = min((wait.until for wait in waits if wait.until), default=None)
    if len(stuck) < len(waits):
        return Check("steps", None, says, more, until=soonest, not_yet=True)
    call = f"GET /v1/workflow-runs/{seen.take.run_id}"
    fix = Fix("Open the run, and decide or mend.", call, "workflow_run", seen.take.run_id)
    return Check("steps", False, says, more, fix, soonest)


def deadline(found: Situation) -> Check:
    """Report the deadline of a run."""
    row = found.run_row
    if row is None or found.status != Status.RUNNING:
        return Check("deadline", None, "its deadline counts from its begin")
    left = row.deadline_at - found.now
    if left.total_seconds() <= 0:
        return Check("deadline", False, f"its deadline passed at {told(row.deadline_at)}")
    return Check("deadline", True, f"its deadline is {told(row.deadline_at)}, in {spell(left)}")


def seen_run(found: Situation) -> SeenRun | None:
    """Return the run with its open steps; None where it is not under way."""
    if found.part is None or found.run_row is None or found.status != Status.RUNNING:
        return None
    [seen] = see([find_take(found.task.tenant_id, found.part.run_id)])
    return seen


def _sentence(found: Situation, seen: SeenRun, wait: RunWait) -> str:
    """Return what one step waits for."""
    key, end = wait.step or "", f" until {told(wait.until)}" if wait.until else ""
    if wait.kind == "approval":
        return f"{key} waits for a decision{end}."
    if wait.kind == "delay":
        return f"{key} waits{end}."
    if wait.kind == "compensation":
        return f"{key} is being undone."
    if wait.kind == "workflow":
        return f"{key} waits for the run of another workflow."
    number = number_of(seen, key)
    if wait.kind == "event":
        about = hide(seen.waits[number].correlation)
        name = seen.waits[number].name
        return f"{key} waits for the signal {name}{f' about {about}' if about else ''}{end}."
    if wait.kind == "items":
        return f"{_items(seen, wait, number)} {_why(found, seen, number)}".strip()
    return f"{key}: {_why(found, seen, number) or 'it runs.'}"


def _items(seen: SeenRun, wait: RunWait, number: int) -> str:
    most = seen.steps[number].get("max_parallel")
    window = f", at most {most} at one time (max_parallel)" if most else ""
    return f"{wait.step}: {wait.done} of {wait.total} items have ended{window}."


def _why(found: Situation, seen: SeenRun, number: int) -> str:
    """Return what keeps a call of a step from starting; '' where nothing does."""
    waiting = Execution.objects.filter(
        run_id=seen.take.run_id, step=number, status__in=(Status.PENDING, Status.RETRYING)
    )
    call = waiting.order_by("item", "id").first()
    if call is None:
        return ""
    situation = Situation(found.task, call.scheduled_for, found.now, call)
    held_up = next((check for check in _checks_of(situation) if check.holds_up), None)
    return "" if held_up is None else held_up.evidence


def _checks_of(call: Situation) -> Iterator[Check]:
    yield step_active(call)
    for check in _ON_THE_WAY:
        yield check(call)
