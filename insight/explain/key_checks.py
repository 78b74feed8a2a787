"""The check of the concurrency key: whether it has a place for the execution."""

from __future__ import annotations

from executions.gate.key_list import Holder, ShownKey, before_in_line, key_of
from insight.explain.answer import Check, Fix, told
from insight.explain.evidence import Situation
from tasks.models import Task
from tenants.quotas.limits import RUNS_IN_FLIGHT


def concurrency_key(found: Situation) -> Check:
    """Judge whether the key that its task shares with others leaves it a place."""
    row = found.row
    key = found.task.concurrency_key if row is None else row.concurrency_key
    if key is None:
        return Check("concurrency_key", None, "its task shares no concurrency key")
    if row is None or not found.waiting:
        says = f"it had a place of the key {key}" if found.started else f"its key is {key}"
        return Check("concurrency_key", True if found.started else None, says, _rule(found.task))
    if row.key_place is not None and row.key_place > 0:
        return Check("concurrency_key", True, f"it has a place of the key {key}", _rule(found.task))
    if row.gated or row.key_place == -1 or not found.due:
        says = f"the key {key} is asked when it is due and nothing else holds it"
        return Check("concurrency_key", None, says, _rule(found.task))
    return _waits(found, key_of(found.task.tenant_id, key))


def _waits(found: Situation, shown: ShownKey) -> Check:
    assert found.row is not None  # noqa: S101 - only waiting work comes here
    before, most = before_in_line(found.row), found.task.concurrency_max or 1
    line = f" {before} wait before it." if before else ""
    if shown.in_use < most and not before:
        if found.task.concurrency_fifo and (full := _tenant_is_full(found)):
            says = f"it is the next of the key {shown.key}, and waits for {full}"
            return Check("concurrency_key", False, says, _rule(found.task))
        says = f"the key {shown.key} is about to give it a place"
        return Check("concurrency_key", None, says, _rule(found.task))
    used = f"{shown.in_use} of {most} in use"
    if not shown.holders:
        says = f"it waits for the key {shown.key}: {used}"
        return Check("concurrency_key", False, says, f"{_rule(found.task)}{line}")
    first = shown.holders[0]
    says = f"it waits for the key {shown.key}: {used} by {_named(first, shown.in_use - 1)}"
    fix = Fix(
        "Cancel the execution that has the place, or allow more of the key at a time.",
        f"POST /v1/executions/{first.id}/cancel",
        "execution",
        first.id,
    )
    return Check("concurrency_key", False, says, f"{_rule(found.task)}{line}", fix)


def _tenant_is_full(found: Situation) -> str:
    """Return the limit of its tenant that keeps a run from beginning, '' without one."""
    if not found.is_run or found.row is None or found.row.run_id is not None:
        return ""
    used, limit = found.in_flight(RUNS_IN_FLIGHT)
    return f"tenant_limit: runs in flight {used} of {limit}" if limit and used >= limit else ""


def _named(holder: Holder, others: int) -> str:
    since = f" since {told(holder.started_at)}" if holder.started_at else ""
    name = holder.task_name or str(holder.task_id)
    more = f" and {others} more" if others > 0 else ""
    return f"an execution of {name} ({holder.status}{since}){more}"


def _rule(task: Task) -> str:
    if task.concurrency_fifo:
        return "Executions of the key run strictly in order, one at a time."
    return (
        f"Executions of its task start while fewer than {task.concurrency_max or 1} have a place."
    )
