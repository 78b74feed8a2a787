"""Objectives as the API and ``--json`` give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executions.ledger.objectives import BUDGET_DAYS, ONE_BAD_IN, Objective
from insight.statistics.objectives import WINDOWS, Budget, ObjectiveState, Spent
from insight.statistics.task_targets import TaskTargets
from shared.instants import format_instant


def target_of(objective: Objective) -> float:
    """Return the share that is to meet the objective, such as 0.999."""
    return 1 - 1 / ONE_BAD_IN[objective]


def present_objectives(found: Sequence[ObjectiveState]) -> dict[str, Any]:
    """Return the answer: the moment, and each objective with its parts."""
    return {
        "at": format_instant(found[0].budget.at),
        "window_days": BUDGET_DAYS,
        "objectives": [_state(one) for one in found],
    }


def present_targets(found: Sequence[TaskTargets]) -> list[dict[str, Any]]:
    """Return the targets of tasks, and how they were kept."""
    return [
        {
            "task_id": str(one.task_id),
            "name": one.name,
            "targets": [
                {
                    "target": figure.target,
                    "seconds": figure.seconds,
                    "total": figure.total,
                    "bad": figure.bad,
                    "budget_left": figure.left,
                    "burn_rate": figure.burn_rate,
                }
                for figure in one.figures
            ],
        }
        for one in found
    ]


def _state(one: ObjectiveState) -> dict[str, Any]:
    return {
        "objective": str(one.objective),
        "target": target_of(one.objective),
        **_figures(one.budget),
        "by_band": [{"band": budget.band, **_figures(budget)} for budget in one.by_band],
        "causes": [_cause(cause) for cause in one.causes],
    }


def _figures(budget: Budget) -> dict[str, Any]:
    ends = budget.exhausted_at
    return {
        "total": budget.whole.total,
        "good": budget.whole.good,
        "bad": budget.whole.bad,
        "budget": budget.allowed,
        "budget_left": budget.left,
        "exhausted_at": ends and format_instant(ends),
        "burn_rates": [
            {
                "window": name,
                "total": budget.figures[name].total,
                "bad": budget.figures[name].bad,
                "burn_rate": budget.burn_rate(name),
            }
            for name in WINDOWS
        ],
    }


def _cause(cause: Spent) -> dict[str, Any]:
    example = cause.execution_id
    return {
        "cause": cause.cause,
        "bad": cause.bad,
        "last_at": format_instant(cause.last_at),
        "execution_id": example and str(example),
    }
