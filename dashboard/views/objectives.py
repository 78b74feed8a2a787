"""Objectives: error budgets of 30 days, how fast they are spent, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from dashboard.pictures.budget import BudgetBar, part_text
from executions.ledger.objectives import CAUSES, Objective
from executions.models import Execution
from insight.presentation.objectives import target_of
from insight.statistics.objectives import WINDOWS, Budget, ObjectiveState, objectives_of
from insight.statistics.task_targets import START, TaskTargets, task_targets
from tenants.choices import Role

_TITLES: Mapping[Objective, tuple[str, str]] = {
    Objective.START: ("Starts on time", "start within 5 s of their due time"),
    Objective.SUCCESS: (
        "Success without external failures",
        "of attempts and missed instants are free of faults of Punctual's own",
    ),
    Objective.API: ("API answers", "of calls are answered without a server error (5xx)"),
}
_MEANINGS = {(cause.objective, cause.code): cause.meaning for cause in CAUSES}


@page(Role.VIEWER)
def objectives(request: ConsoleRequest) -> HttpResponse:
    """Show each objective of the tenant."""
    found = objectives_of(request.visitor.tenant.pk)
    examples = [cause.execution_id for one in found for cause in one.causes if cause.execution_id]
    kept = _kept(request.visitor.tenant.pk, examples)
    context = {
        "at": found[0].budget.at,
        "windows": list(WINDOWS),
        "objectives": [_shown(one, kept) for one in found],
        "tasks": [_task(one) for one in task_targets(request.visitor.tenant.pk)],
        "used": any(one.budget.whole.total for one in found),
    }
    return render(request, "dashboard/objectives.html", context)


def _kept(tenant_id: UUID, examples: list[UUID]) -> set[UUID]:
    """Return the executions among the examples that the history still has."""
    known = Execution.objects.for_tenant(tenant_id).filter(pk__in=examples)
    return set(known.values_list("pk", flat=True)) if examples else set()


def _shown(one: ObjectiveState, kept: set[UUID]) -> dict[str, Any]:
    title, words = _TITLES[one.objective]
    budgets = [one.budget, *one.by_band]
    return {
        "name": str(one.objective),
        "title": title,
        "target": f"{target_of(one.objective) * 100:.6g} %",
        "words": words,
        "budget": one.budget,
        "left": part_text(max(0.0, one.budget.left)),
        "overspent": one.budget.left < 0,
        "bars": [_bar(budget) for budget in budgets],
        "burns": [
            {"label": _label(budget), "rates": [_rate(budget, name) for name in WINDOWS]}
            for budget in budgets
        ],
        "causes": [
            {
                "cause": cause,
                "meaning": _MEANINGS.get((cause.objective, cause.cause), ""),
                # Read a moment later: there may be a first one.
                "share": f"{cause.bad / max(1, one.budget.whole.bad):.0%}",
                "example": cause.execution_id if cause.execution_id in kept else None,
            }
            for cause in one.causes
        ],
    }


def _task(one: TaskTargets) -> dict[str, Any]:
    return {
        "id": one.task_id,
        "name": one.name,
        "figures": [
            {
                "words": "starts within" if figure.target == START else "ends within",
                "seconds": f"{figure.seconds:g} s",
                "total": figure.total,
                "bad": figure.bad,
                "left": part_text(max(0.0, figure.left)),
                "overspent": figure.left < 0,
                "rate": f"{figure.burn_rate:,.2f}",
                "fast": figure.burn_rate > 1,
            }
            for figure in one.figures
        ],
    }


def _bar(budget: Budget) -> BudgetBar:
    return BudgetBar(_label(budget), budget.whole.total, budget.whole.bad, 1.0 - budget.left)


def _label(budget: Budget) -> str:
    return budget.band or "all"


def _rate(budget: Budget, window: str) -> dict[str, Any]:
    figure, rate = budget.figures[window], budget.burn_rate(window)
    return {
        "window": window,
        "text": f"{rate:,.2f}",
        "fast": rate > 1,
        "title": f"{figure.bad:,} of {figure.total:,}",
    }
