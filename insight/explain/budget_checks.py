"""The check of the task's budget."""

from __future__ import annotations

from insight.explain.answer import Check, Fix, told
from insight.explain.evidence import Situation
from tasks.budgets.purses import Purse, plain
from tasks.choices import BUDGET_EXCEEDED


def budget(found: Situation) -> Check:
    """Judge whether the budget of its task leaves something for it."""
    if found.reason == BUDGET_EXCEEDED:
        says = "nothing was left of the task's budget when it came due"
        return Check("budget", False, says, _use(found), _change(found))
    if found.final or found.started or not found.scheduled:
        return Check("budget", None, "its budget is not asked any more")
    if found.row is not None and (found.row.gave_way or not found.row.gated):
        return Check("budget", True, "its budget has let it run")
    ended = [purse for purse in found.purses if not purse.left and found.due_at < purse.resets_at]
    if ended:
        says = f"the task's budget is used up: {_words(ended[0])}"
        more = f"What comes due before {told(ended[0].resets_at)} is skipped."
        return Check("budget", False, says, more, _change(found))
    return Check("budget", True, "the task's budget has something left", _use(found))


def _use(found: Situation) -> str:
    words = [f"{_words(purse)}, until {told(purse.resets_at)}" for purse in found.purses]
    return f"Now: {'; '.join(words)}." if words else ""


def _words(purse: Purse) -> str:
    return f"{plain(purse.used)} of {plain(purse.most)} {purse.unit} of this {purse.per}"


def _change(found: Situation) -> Fix:
    task = found.task.pk
    return Fix("Raise or remove the task's budget.", f"PATCH /v1/tasks/{task}", "task", task)
