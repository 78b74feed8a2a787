"""``manage.py tasks run``: run tasks now, and with ``--wait`` show the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from executions.choices import FINAL, Status
from executions.models import Execution
from executions.triggering.triggers import Override, run_task
from insight.presentation.execution import present_executions
from operations import many
from operations.files import json_value
from operations.finding import ID_TAIL, find_task
from operations.following import until_final
from operations.tasks.changes import add_ids
from shared.actor import COMMAND
from shared.commands import FAILED, TIMED_OUT, PunctualCommand, shown, wrong_use
from tasks.models import Task

_WAIT_SECONDS = 300.0


def add_options(parser: CommandParser) -> None:
    """Add the options of ``run``."""
    add_ids(parser)
    parser.add_argument(
        "--payload", metavar="JSON", help="send this instead: JSON, @FILE, or - (stdin)"
    )
    parser.add_argument(
        "--wait",
        nargs="?",
        type=float,
        const=_WAIT_SECONDS,
        metavar="SECONDS",
        help=f"follow until the end, at most this long ({_WAIT_SECONDS:.0f}); "
        "exit code 1 if one failed, 7 if time is up. Put it behind the ids",
    )


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Run tasks now, beside their schedule, also while they are paused."""
    override = override_of(options)
    if options["wait"] is not None and options["wait"] < 0:
        raise wrong_use("--wait", "the time cannot be negative")
    outcomes = many.resolve(options["ids"], lambda word: find_task(word, options["tenant"]))
    for outcome in outcomes:
        outcome.facts = {"execution": None}

    def act(task: Task) -> dict[str, Any]:
        made = run_task(task.tenant_id, task.id, override, actor=COMMAND)
        return {"execution": present_executions([made])[0]}

    if options["dry_run"]:
        many.report(command, options, outcomes, "would run", lambda task: task.name)
        return
    many.perform(command, outcomes, "running", act)
    ended = _follow(command, outcomes, options["wait"])
    _print(command, options, outcomes, waited=options["wait"] is not None)
    many.conclude(command, outcomes)
    if any(execution.status not in FINAL for execution in ended):
        command.note("The time is up; follow it with `manage.py executions show ID`.")
        command.leave(TIMED_OUT)
    if any(execution.status != Status.SUCCEEDED for execution in ended):
        command.leave(FAILED)


def override_of(options: Mapping[str, Any]) -> Override | None:
    """Return the payload of ``--payload``; ``null`` is a payload."""
    if options["payload"] is None:
        return None
    return Override(json_value(options["payload"], "--payload", "#/payload"))


def _follow(
    command: PunctualCommand, outcomes: Sequence[many.Outcome], seconds: float | None
) -> list[Execution]:
    started = [outcome for outcome in outcomes if outcome.facts["execution"] is not None]
    if seconds is None or not started:
        return []

    def changed(execution: Execution) -> None:
        attempt = f", attempt {execution.attempt}" if execution.attempt else ""
        command.note(f"{str(execution.id)[-ID_TAIL:]}  {execution.status}{attempt}")

    ids = [UUID(outcome.facts["execution"]["id"]) for outcome in started]
    ended = until_final(ids, timeout=seconds, changed=changed)
    shown_by_id = {found["id"]: found for found in present_executions(ended)}
    for outcome in started:
        outcome.facts["execution"] = shown_by_id[outcome.facts["execution"]["id"]]
    return ended


def _print(
    command: PunctualCommand,
    options: Mapping[str, Any],
    outcomes: Sequence[many.Outcome],
    *,
    waited: bool,
) -> None:
    lines = []
    for outcome in outcomes:
        execution = outcome.facts.get("execution")
        if outcome.error is not None or execution is None:
            lines += list(many.lines([outcome], "", str))
        else:
            lines.append(_line(command, execution, waited=waited))
    command.emit(options, many.document(outcomes), lines)


def _line(command: PunctualCommand, execution: Mapping[str, Any], *, waited: bool) -> str:
    said = command.paint(execution["status"]) if waited else "started"
    line = f"{said}  {execution['id']}  {shown(execution['task_name'], 30)}"
    if execution["error"] is not None:
        line += f"\n  {execution['error']['code']}: {shown(execution['error']['message'])}"
    return line
