"""``manage.py workflows run``: run a workflow now, and with ``--wait`` show how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.choices import FINAL, Status
from executions.models import Execution
from operations.files import json_value
from operations.finding import ID_TAIL
from operations.following import until_final
from operations.payload_readings import note_shown
from operations.workflows.finding import add_workflow, find_workflow
from operations.workflows.run_reading import document_of, status_lines, take_of
from shared.actor import COMMAND
from shared.commands import FAILED, TIMED_OUT, PunctualCommand, wrong_use
from workflows.launching import start_run

_WAIT_SECONDS = 300.0


def add_options(parser: CommandParser) -> None:
    """Add the options of ``run``."""
    add_workflow(parser)
    add_input(parser, "the input of the run: JSON, @FILE, or - (stdin)")
    parser.add_argument(
        "--wait",
        nargs="?",
        type=float,
        const=_WAIT_SECONDS,
        metavar="SECONDS",
        help=f"follow until the end, at most this long ({_WAIT_SECONDS:.0f}); "
        "exit code 1 if it failed, 7 if time is up. Put it behind the id",
    )


def add_input(parser: CommandParser, text: str) -> None:
    """Add the option that gives a run its input."""
    parser.add_argument("--input", metavar="JSON", help=text)


def input_of(options: Mapping[str, Any]) -> Any:
    """Return the input of ``--input``; None is the same as none."""
    text = options["input"]
    return None if text is None else json_value(text, "--input", "#/input")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Run a workflow now, beside its schedule, also while it is paused."""
    value, seconds = input_of(options), options["wait"]
    if seconds is not None and seconds < 0:
        raise wrong_use("--wait", "the time cannot be negative")
    task = find_workflow(options["id"], options["tenant"])
    with transaction.atomic(durable=True):
        made = start_run(task.tenant_id, task.id, value, actor=COMMAND)
    ended = None if seconds is None else _follow(command, made, seconds)
    document = document_of(take_of(made))
    lines = status_lines(command, document, task.name)
    if options["json"]:
        note_shown("run", [document])
    command.emit(options, document, lines if ended else [f"run {made.id} of {task.name}"])
    tail = str(made.id)[-ID_TAIL:]
    if ended is None:
        command.note(f"Follow it: manage.py workflows status {tail}")
    elif ended.status not in FINAL:
        command.note(f"The time is up; follow it with `manage.py workflows status {tail}`.")
        command.leave(TIMED_OUT)
    elif ended.status != Status.SUCCEEDED:
        command.leave(FAILED)


def _follow(command: PunctualCommand, made: Execution, seconds: float) -> Execution:
    def changed(execution: Execution) -> None:
        command.note(f"{str(execution.id)[-ID_TAIL:]}  {execution.status}")

    [ended] = until_final([made.id], timeout=seconds, changed=changed)
    return ended
