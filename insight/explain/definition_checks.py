"""Checks of the task and its tenant: whether it exists, is active, or is paused and why."""

from __future__ import annotations

from datetime import datetime

from executions.changes.paused_places import PLACE_PAUSED
from executions.changes.paused_runs import RUN_PAUSED
from executions.choices import Status
from insight.explain.answer import Check, Fix, told
from insight.explain.evidence import Situation, end_of_pause, name_of
from insight.explain.reasons import REASONS
from shared.actor import SYSTEM
from tasks.choices import SUSPENSION, TENANT_SUSPENDED, OnResume, TaskStatus
from tasks.models import Task
from tasks.standing_pauses import describe

_LATER = {
    OnResume.SKIP.value: "Instants within the pause are skipped.",
    OnResume.RUN_ONCE.value: "One run on resuming covers all instants within the pause.",
    OnResume.REPLAY.value: "Every instant within the pause runs on resuming.",
}

_SUSPENDED_ONLY = "no pause of its own holds it"
#: For an instant with a row, and for one without.
_AFTER_SUSPENSION = (
    "It starts when the tenant is resumed.",
    "When the tenant is resumed, the task's misfire policy decides on it.",
)


def task_exists(found: Situation) -> Check:
    """Judge whether the task exists, or did when the instant was decided."""
    task = found.task
    if task.deleted_at is None:
        says = f"the task is there since {told(task.created_at)}, now at version {task.version}"
        return Check("task_exists", True, says)
    by = found.change("task.deleted")
    says = f"the task was deleted at {told(task.deleted_at)}{f' by {by}' if by else ''}"
    if found.reason == "task_deleted" or not (found.final or found.status):
        fix = Fix("Create the task again; a deleted task never runs.", "POST /v1/tasks")
        return Check("task_exists", False, says, fix=fix)
    more = "It existed when this was decided." if found.final else "Started executions continue."
    return Check("task_exists", True, says, more)


def task_active(found: Situation) -> Check:
    """Judge whether the task was active: neither ended nor held by a pause."""
    if found.final:
        return _was_active(found)
    if found.status in (Status.QUEUED, Status.RUNNING):
        when = "it began" if found.is_run else "it was handed to a worker"
        return _active(True, f"no pause held it when {when}")
    if found.row is not None:
        return _active_for_row(found)
    return _active_for_instant(found)


def tenant_active(found: Situation) -> Check:
    """Judge whether the tenant was active: no work of a suspended tenant starts."""
    tenant = found.tenant
    if tenant is None:
        return Check("tenant_active", None, "the tenant is gone")
    if found.final:
        return _was_not_suspended(found)
    if tenant.suspended_at is None:
        return Check("tenant_active", True, f"the tenant, {tenant.name}, is active")
    says = f"the tenant, {tenant.name}, is suspended since {told(tenant.suspended_at)}"
    if found.status in (Status.QUEUED, Status.RUNNING):
        return Check("tenant_active", True, says, "Running executions may end.")
    if found.row is None and (found.occurrence is None or found.passed):
        return Check("tenant_active", None, says, "The suspension did not decide on this instant.")
    fix = Fix("Have the operator resume the tenant: `manage.py tenant resume`.")
    return Check("tenant_active", False, says, _AFTER_SUSPENSION[found.row is None], fix)


def _was_not_suspended(found: Situation) -> Check:
    """Judge a decided instant by its row in the ledger."""
    if found.reason == TENANT_SUSPENDED:
        says = "it fell into a suspension of the tenant"
        policy = found.task.schedule.get("misfire_policy") or "coalesce"
        more = f"On resuming, the misfire policy, {policy}, did not run it."
        return Check("tenant_active", False, says, more)
    reason = REASONS.get(found.reason)
    if reason is not None and reason.check == "tenant_active":
        says = "it fell into a suspension of the tenant and ran afterwards"
        return Check("tenant_active", True, says)
    return Check("tenant_active", True, "no suspension of the tenant held it")


def _was_active(found: Situation) -> Check:
    """Judge a decided instant by its row in the ledger."""
    reason = REASONS.get(found.reason)
    if found.reason == "task_cancelled":
        by = found.change("task.cancelled")
        return _active(False, f"the task was cancelled{f' by {by}' if by else ''} before it began")
    in_pause = reason is not None and reason.check == "task_active"
    if in_pause and found.status == Status.SKIPPED:
        return _active(False, "it fell into a pause of the task", _pause_of_then(found))
    if in_pause:
        return _active(True, "it fell into a pause of the task and ran afterwards")
    if found.status == Status.CANCELLED and not found.started:
        return _active(None, "only this execution was cancelled; the task continues")
    return _active(True, "the task was active")


def _pause_of_then(found: Situation) -> str:
    by = found.change("task.paused", until=found.at)
    asked = f"{by} paused it." if by else ""
    rule = (
        "On resuming, the last one of the pause ran for all of them."
        if found.reason == "paused_coalesced"
        else "It was to be skipped on resuming."
    )
    return f"{asked} {rule}".strip()


def _active_for_row(found: Situation) -> Check:
    row = found.row
    if row is not None and row.held and found.reason == RUN_PAUSED:
        fix = Fix("Resume the run.", f"POST /v1/workflow-runs/{row.run_id}/resume")
        return _active(False, "the run of which it is a step is paused", fix=fix)
    if row is not None and row.held and found.reason == PLACE_PAUSED:
        fix = Fix("End the pause.", "GET /v1/pauses")
        return _active(False, "its pool or its destination is paused", fix=fix)
    if _in_suspension(found):
        return _active(True, _SUSPENDED_ONLY)
    if found.task.status != TaskStatus.PAUSED:
        if row is not None and row.held and not row.gated and row.key_place != 0:
            fix = Fix("Resume the task.", f"POST /v1/tasks/{found.task.pk}/resume")
            return _active(False, "it is on hold, as after a pause that has ended", fix=fix)
        return _active(True, f"the task is {found.task.status}")
    if row is not None and (not row.held or row.key_place == 0):
        return _active(None, "the task is paused, which does not hold a run started by hand")
    return _paused(found)


def _active_for_instant(found: Situation) -> Check:
    """Judge an instant without a row by the present status of the task."""
    task = found.task
    if found.occurrence is None:
        return _active(None, f"the task is {task.status}; the instant is not in its schedule")
    if task.status == TaskStatus.CANCELLED:
        by = found.change("task.cancelled")
        fix = Fix(
            "Duplicate the task; a cancelled task stays cancelled.",
            "POST /v1/tasks",
            "task",
            task.pk,
        )
        says = f"the task is cancelled{f', by {by}' if by else ''}, and will not fire again"
        return _active(False, says, fix=fix)
    if _in_suspension(found):
        return _active(True, _SUSPENDED_ONLY)
    if task.status != TaskStatus.PAUSED or (found.passed and task.next_run_at is not None):
        return _active(True, f"the task is {task.status}")
    until = end_of_pause(task, found.pause)
    if until is not None and found.at > until:
        return _active(True, f"the task is paused until {told(until)}, which is before it")
    return _paused(found)


def _in_suspension(found: Situation) -> bool:
    """Return whether the suspension of the tenant holds the task, and no other pause."""
    if found.pause is not None:
        return found.pause.scope == SUSPENSION
    return found.row is not None and found.row.held and found.reason == TENANT_SUSPENDED


def _paused(found: Situation) -> Check:
    task, pause = found.task, found.pause
    until = end_of_pause(task, pause)
    since = f" since {told(task.paused_at)}" if task.paused_at else ""
    end = f" until {told(until)}" if until else ""
    note = f" Note: {task.pause_note.rstrip('.')}." if task.pause_note else ""
    more = f"{_LATER.get(task.on_resume, '')}{note}".strip()
    if pause is not None:
        what = describe(pause.scope, pause.value)
        says = f"a standing pause of {what} holds the task{since}{end}"
        fix = Fix("End the standing pause.", f"POST /v1/pauses/{pause.pk}/end", "pauses")
        return _active(False, says, f"Begun by {_who(found)}. {more}".strip(), fix, until)
    fix = Fix("Resume the task.", f"POST /v1/tasks/{task.pk}/resume", "task", task.pk)
    by = found.change("task.paused")
    if _by_itself(task, by):
        says = f"the task paused by itself{since}, after {task.failure_streak} failures in a row"
        fix = Fix("Mend the failure, then resume the task.", fix.call, fix.page, fix.subject)
        return _active(False, says, more, fix, until)
    says = f"the task is paused{f' by {by}' if by else ''}{since}{end}"
    return _active(False, says, more, fix, until)


def _who(found: Situation) -> str:
    return name_of(found.pause.created_by) if found.pause else ""


def _by_itself(task: Task, by: str) -> bool:
    most = task.pause_after_failures
    many = most is not None and task.failure_streak >= most
    return many and by in ("", name_of(SYSTEM.name))


def _active(
    ok: bool | None,
    says: str,
    more: str = "",
    fix: Fix | None = None,
    until: datetime | None = None,
) -> Check:
    return Check("task_active", ok, says, more, fix, until)
