"""``manage.py workflows cancel``, ``pause``, ``resume`` and ``retry``: of one run or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.choices import FINAL
from executions.models import Execution
from executions.triggering.triggers import Override
from insight.presentation.workflow_runs import present_runs
from operations import many
from operations.files import json_value
from operations.workflows.finding import add_runs, find_run
from operations.workflows.run_reading import take_of
from operations.workflows.running import add_input
from shared.actor import COMMAND
from shared.commands import PunctualCommand, wrong_use
from workflows import control
from workflows.control import Scope
from workflows.retry_requests import request_retry
from workflows.retrying import Retry

SCOPES = ("all", "not_started", "downstream")
_FAILED_STEPS = "failed"
_VERSIONS = ("original", "latest")

Change = Callable[[Execution], Any]


def add_cancel_options(parser: CommandParser) -> None:
    """Add the options of ``cancel``."""
    add_runs(parser)
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default=SCOPES[0],
        help="the whole run, only steps that have not begun, or a step and all behind it (all)",
    )
    parser.add_argument(
        "--key", metavar="STEP", help="with --scope downstream: the key of that step"
    )


def add_pause_options(parser: CommandParser) -> None:
    """Add the options of ``pause`` and ``resume``."""
    add_runs(parser)


def add_retry_options(parser: CommandParser) -> None:
    """Add the options of ``retry``."""
    add_runs(parser)
    parser.add_argument(
        "--from",
        dest="begin",
        metavar="STEP",
        default=_FAILED_STEPS,
        help="'failed': all steps that have failed, or the key of the step to begin from (failed)",
    )
    parser.add_argument(
        "--version",
        dest="by_version",
        choices=_VERSIONS,
        default=_VERSIONS[0],
        help="of the workflow: that of the run, or the current one (original)",
    )
    parser.add_argument(
        "--cancel-running",
        action="store_true",
        help="cancel open runs first; the take begins when what runs has ended",
    )
    add_input(parser, "another input: JSON, @FILE, or - (stdin); left out, the same again")


def cancel(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Cancel runs, or a part of them; steps that run are asked to stop."""
    if (options["scope"] == "downstream") != (options["key"] is not None):
        raise wrong_use("--key", "give it with --scope downstream, and only with that")
    scope = Scope(options["scope"], options["key"] or "")

    def change(run: Execution) -> None:
        control.cancel_run(run.tenant_id, run.id, scope, actor=COMMAND)

    outcomes = _change(command, options, change, "cancelled", ask=True)
    open_ = sum(one.error is None and one.facts["status"] not in FINAL for one in outcomes)
    if open_ and scope.name == "all" and not options["dry_run"]:
        command.note(f"{open_} open: steps that run were asked to stop; see `workflows status RUN`")
    _report(command, options, outcomes, "cancelled")


def pause(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Pause runs: no further step begins, steps that run continue, and so do deadlines."""

    def change(run: Execution) -> None:
        control.pause_run(run.tenant_id, run.id, actor=COMMAND)

    _report(command, options, _change(command, options, change, "paused"), "paused")


def resume(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Resume paused runs."""

    def change(run: Execution) -> None:
        control.resume_run(run.tenant_id, run.id, actor=COMMAND)

    _report(command, options, _change(command, options, change, "resumed"), "resumed")


def retry(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Begin the next take of runs, cancelling open ones if asked; what has succeeded is kept."""
    wanted = Retry(
        key=None if options["begin"] == _FAILED_STEPS else options["begin"],
        latest=options["by_version"] == "latest",
        override=_override(options["input"]),
        cancel_running=options["cancel_running"],
    )

    def change(run: Execution) -> None:
        request_retry(run.tenant_id, run.id, wanted, actor=COMMAND)

    _report(command, options, _change(command, options, change, "retried"), "retried")


def _override(text: str | None) -> Override | None:
    return None if text is None else Override(json_value(text, "--input", "#/input"))


def _change(
    command: PunctualCommand,
    options: Mapping[str, Any],
    change: Change,
    done: str,
    *,
    ask: bool = False,
) -> list[many.Outcome]:
    outcomes = many.resolve(options["ids"], lambda word: find_run(word, options["tenant"]))
    for outcome in outcomes:
        if outcome.row is not None:
            outcome.facts = _facts(outcome.row)
    if options["dry_run"]:
        return outcomes
    found = sum(outcome.row is not None for outcome in outcomes)
    if ask and found:
        command.confirm(options, f"Cancel {found} run{'' if found == 1 else 's'}?")

    def act(run: Execution) -> dict[str, Any]:
        change(run)
        return _facts(run)

    many.perform(command, outcomes, done, act)
    return outcomes


def _report(
    command: PunctualCommand, options: Mapping[str, Any], outcomes: list[many.Outcome], done: str
) -> None:
    said = f"would be {done}" if options["dry_run"] else done
    many.report(command, options, outcomes, said, lambda run: run.task.name)


def _facts(run: Execution) -> dict[str, Any]:
    [found] = present_runs([take_of(run)])
    return {key: found[key] for key in ("workflow_id", "take", "status", "reason")}
