"""Check of the tasks that a one-time task depends on: whether they have succeeded."""

from __future__ import annotations

from insight.explain.answer import Check, Fix
from insight.explain.evidence import Situation
from tasks.choices import DEPENDENCY_FAILED
from tasks.models import Task

_NAMED = 5
_WHAT_FOLLOWS = {
    "skip": "If one of them ends without success before its time, it is skipped.",
    "fail": "If one of them ends without success before its time, it fails.",
    "wait": "If one of them fails, it waits until a retry of that task succeeds.",
}


def dependencies(found: Situation) -> Check:
    """Judge whether every task that it depends on has succeeded."""
    if not found.scheduled:
        return Check("dependencies", None, "it was started beside the schedule, without waiting")
    task = f"/v1/tasks/{found.task.pk}"
    if found.reason == DEPENDENCY_FAILED:
        fix = Fix("Mend the task that failed, then run this one.", f"POST {task}/run")
        says = "a task that it depends on had ended without success when its time came"
        return Check("dependencies", False, says, fix=fix)
    if found.row is not None or not found.waits_for:
        return Check("dependencies", True, "it waits for no other task any longer")
    count = len(found.waits_for)
    has = "task that it depends on has" if count == 1 else "tasks that it depends on have"
    says = f"{count} {has} not succeeded: {_named(found.waits_for)}"
    fix = Fix("Run or mend what it waits for, or edit depends_on.", f"PATCH {task}")
    follows = _WHAT_FOLLOWS.get(found.on_dependency_failure, "")
    return Check("dependencies", False, says, follows, fix)


def _named(tasks: list[Task]) -> str:
    shown = [f"{task.name} ({_state_of(task)})" for task in tasks[:_NAMED]]
    left = len(tasks) - len(shown)
    return ", ".join(shown) + (f" and {left} more" if left else "")


def _state_of(task: Task) -> str:
    return "deleted" if task.deleted_at is not None else str(task.status)
