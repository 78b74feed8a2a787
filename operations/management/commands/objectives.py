"""``manage.py objectives``: error budgets, burn rates, and what spends the budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from insight.presentation.objectives import present_objectives, present_targets
from insight.statistics.objectives import (
    WINDOWS,
    Budget,
    ObjectiveState,
    objectives_of,
    objectives_of_installation,
)
from insight.statistics.task_targets import TaskTargets, task_targets
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.services import get_tenant

_HEADING = ("objective", "priority", "counted", "missed", "budget left", *WINDOWS, "spent at")
_TARGETS = (
    *("task", "target", "within", "counted", "missed", "budget left", "burn rate today", "name"),
)
_CAUSES = ("objective", "cause", "missed", "last", "example")


def _show(command: Any, options: Mapping[str, Any]) -> None:
    named = options["tenant"]
    tenant = None if named is None else get_tenant(named)
    found = objectives_of_installation() if tenant is None else objectives_of(tenant.pk)
    tasks = [] if tenant is None else task_targets(tenant.pk)
    document = {
        "tenant_id": tenant and str(tenant.pk),
        **present_objectives(found),
        "tasks": present_targets(tasks),
    }
    command.emit(options, document, [*_lines(found), *_task_lines(tasks)])


def _add_show_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; the whole installation if left out")


class Command(VerbCommand):
    """Show objectives."""

    help = "Objectives: error budgets of 30 days, how fast they are spent, and by what."
    verbs = (
        Verb(
            "show",
            "show the objectives of the installation, or of one tenant",
            ("objectives show", 'objectives show --tenant "Billing" --json'),
            _show,
            _add_show_options,
        ),
    )


def _lines(found: Sequence[ObjectiveState]) -> Iterator[str]:
    rows = [_row(budget) for one in found for budget in (one.budget, *one.by_band)]
    yield from table(_HEADING, rows)
    causes = [
        (
            str(cause.objective),
            cause.cause,
            f"{cause.bad:,}",
            f"{cause.last_at:%Y-%m-%d %H:%M} UTC",
            str(cause.execution_id or "-"),
        )
        for one in found
        for cause in one.causes
    ]
    if causes:
        yield ""
        yield from table(_CAUSES, causes)


def _task_lines(tasks: Sequence[TaskTargets]) -> Iterator[str]:
    if not tasks:
        return
    yield ""
    yield from table(
        _TARGETS,
        [
            (
                str(one.task_id),
                figure.target,
                f"{figure.seconds:g} s",
                f"{figure.total:,}",
                f"{figure.bad:,}",
                f"{figure.left:.1%}",
                f"{figure.burn_rate:.2f}",
                shown(one.name, 36),
            )
            for one in tasks
            for figure in one.figures
        ],
    )


def _row(budget: Budget) -> tuple[str, ...]:
    ends = budget.exhausted_at
    return (
        str(budget.objective),
        budget.band or "all",
        f"{budget.whole.total:,}",
        f"{budget.whole.bad:,}",
        f"{budget.left:.1%}",
        *(f"{budget.burn_rate(name):.2f}" for name in WINDOWS),
        f"{ends:%Y-%m-%d %H:%M} UTC" if ends else "-",
    )
