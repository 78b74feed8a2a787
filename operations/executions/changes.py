"""``manage.py executions cancel`` and ``retry``: of one execution or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.changes.cancellation import cancel_execution
from executions.choices import Status
from executions.models import Execution
from executions.triggering.triggers import retry_execution
from operations import many
from operations.finding import find_execution
from operations.tasks.runs import override_of
from shared.actor import COMMAND
from shared.commands import PunctualCommand


def add_ids(parser: CommandParser) -> None:
    """Add the options that choose the executions of a change."""
    parser.add_argument(
        "ids", metavar="ID", nargs="+", help="ids, or their ends as lists show them (last day)"
    )
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--dry-run", action="store_true", help="show which, change nothing")


def add_retry_options(parser: CommandParser) -> None:
    """Add the options of ``retry``."""
    add_ids(parser)
    parser.add_argument(
        "--payload", metavar="JSON", help="send this instead: JSON, @FILE, or - (stdin)"
    )


def cancel(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Cancel executions."""
    outcomes = _chosen(options)
    if options["dry_run"]:
        many.report(command, options, outcomes, "would cancel", _state)
        return
    found = sum(outcome.row is not None for outcome in outcomes)
    command.confirm(options, f"Cancel {found} execution{'' if found == 1 else 's'}?")

    def act(execution: Execution) -> dict[str, Any]:
        return _facts(cancel_execution(execution.tenant_id, execution.id, actor=COMMAND))

    many.perform(command, outcomes, "cancelling", act)
    running = sum(outcome.facts.get("status") == Status.RUNNING for outcome in outcomes)
    if running:
        command.note(f"{running} running: asked to stop; `executions show ID` shows when it has")
    many.report(command, options, outcomes, "cancelled", _state)


def retry(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Run finished executions again, each as a new one that names it as parent."""
    override = override_of(options)
    outcomes = _chosen(options)
    if options["dry_run"]:
        many.report(command, options, outcomes, "would retry", _state)
        return

    def act(execution: Execution) -> dict[str, Any]:
        made = retry_execution(execution.tenant_id, execution.id, override, actor=COMMAND)
        return {**_facts(execution), "retry_execution_id": str(made.id)}

    many.perform(command, outcomes, "retrying", act)
    many.report(command, options, outcomes, "retried", _state)


def _chosen(options: Mapping[str, Any]) -> list[many.Outcome]:
    outcomes = many.resolve(options["ids"], lambda word: find_execution(word, options["tenant"]))
    for outcome in outcomes:
        if outcome.row is not None:
            outcome.facts = _facts(outcome.row)
    return outcomes


def _facts(execution: Execution) -> dict[str, Any]:
    return {"task_id": str(execution.task_id), "status": str(execution.status)}


def _state(execution: Execution) -> str:
    return f"was {execution.status}"
