"""``manage.py explain``: why an execution, or an instant of a task, ran, did not run or waits.

Exit codes: 0 it ran, runs or will run; 4 something prevents or prevented it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.explain.answer import (
    GOOD_STATES,
    Check,
    Explanation,
    present_explanation,
    told,
)
from insight.explain.explanation import explain_execution, explain_task
from operations.finding import find_execution, find_task, moment_option
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import CONFLICT, PunctualCommand, add_json_option, shown, wrong_use
from shared.duration_words import duration_text
from shared.exceptions import NotFound

_MARKS = {True: "✓", False: "✗", None: "·"}
_NOT_YET = "…"
_EXAMPLES = (
    "explain 77aa41c09b52",
    "explain 9f3c2a7b1d20 --at 2026-11-20T08:00:00Z",
    "explain 9f3c2a7b1d20 --at 2h --json",
)


class Command(PunctualCommand):
    """Explains an execution, or an instant of a task."""

    help = "Say why an execution, or an instant of a task, ran, did not run or waits."

    def add_options(self, parser: CommandParser) -> None:
        """Add the id, the instant and the common options."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(_EXAMPLES)
        parser.add_argument(
            "id", metavar="ID", help="an execution or a task: its id, or the id's end"
        )
        parser.add_argument(
            "--at", metavar="TIME", help="this instant of the task: 2h ago, or RFC 3339"
        )
        parser.add_argument("--tenant", help="name or id; every tenant if left out")
        parser.add_argument("--all", action="store_true", help="also checks that do not apply")
        add_json_option(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        """Print the checklist and the verdict; exit with 4 when something prevents the run."""
        found = _explain(options)
        self.emit(options, present_explanation(found), _lines(found, everything=options["all"]))
        if found.state not in GOOD_STATES:
            self.leave(CONFLICT)


def _explain(options: Mapping[str, Any]) -> Explanation:
    at, now = moment_option("--at", options["at"]), database_now()
    try:
        task = find_task(options["id"], options["tenant"])
    except NotFound:
        execution = find_execution(options["id"], options["tenant"])
        if at is not None:
            raise wrong_use("--at", "an execution has its own instant") from None
        return explain_execution(execution, now)
    return explain_task(task, at, now)


def _lines(found: Explanation, *, everything: bool) -> Iterator[str]:
    yield f"{shown(found.task_name)} · {told(found.scheduled_for)}"
    if found.execution_id is not None:
        yield f"execution {found.execution_id}"
    yield ""
    blocker = found.first_blocker
    for check in found.checks:
        if everything or check.ok is not None or check.not_yet:
            yield _line(check, first=check is blocker)
    yield ""
    yield shown(found.verdict)
    if found.estimated_start is not None:
        yield f"Estimated start: {told(found.estimated_start)}"
    if found.no_estimate:
        yield f"No estimate of the start: {found.no_estimate}"
    if found.estimate_error is not None:
        error = found.estimate_error
        spent = f"{duration_text(error.p50_ms)} (median) and {duration_text(error.p90_ms)} (p90)"
        yield f"Its latest {error.count} starts came {spent} after their due time"
    if blocker is not None and blocker.fix is not None:
        call = f"  ({blocker.fix.call})" if blocker.fix.call else ""
        yield f"What to do: {blocker.fix.text}{call}"


def _line(check: Check, *, first: bool) -> str:
    name = check.name.replace("_", " ")
    mark = _NOT_YET if check.not_yet else _MARKS[check.ok]
    return f" {'▶' if first else ' '}{mark} {name:<14} {shown(check.evidence)}"
