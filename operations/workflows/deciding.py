"""``manage.py workflows skip``, ``succeed``, ``approve`` and ``signal``: what people decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.models import Execution
from insight.presentation.workflow_runs import present_run
from operations.files import json_value
from operations.payload_readings import note_shown
from operations.tenancy import chosen_tenant
from operations.workflows.finding import add_run, find_run
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, wrong_use
from tasks.limits import NAME_LENGTH
from workflows import control
from workflows.signals import send_signal

NOTE_LENGTH = 1000


def add_step_options(parser: CommandParser) -> None:
    """Add the options that name a step of a run."""
    add_run(parser)
    parser.add_argument("key", metavar="STEP", help="the key of the step")


def add_skip_options(parser: CommandParser) -> None:
    """Add the options of ``skip``."""
    add_step_options(parser)
    parser.add_argument(
        "--item", type=int, metavar="N", help="of a fan-out: only this item, which has not begun"
    )


def add_succeed_options(parser: CommandParser) -> None:
    """Add the options of ``succeed``."""
    add_skip_options(parser)
    parser.add_argument(
        "--output", metavar="JSON", help="the output of the step: JSON, @FILE, or - (stdin)"
    )


def add_approve_options(parser: CommandParser) -> None:
    """Add the options of ``approve``."""
    add_step_options(parser)
    parser.add_argument(
        "--take",
        type=int,
        required=True,
        metavar="N",
        help="the take that the approval is for, as `workflows status` shows it",
    )
    parser.add_argument("--reject", action="store_true", help="refuse it: the step fails")
    parser.add_argument("--note", default="", help="why; kept with the decision")


def add_signal_options(parser: CommandParser) -> None:
    """Add the options of ``signal``."""
    parser.add_argument("name", metavar="EVENT", help="the event that steps wait for")
    parser.add_argument(
        "--correlation", default="", metavar="TEXT", help="which of them, such as order-17"
    )
    parser.add_argument(
        "--payload", metavar="JSON", help="the output of these steps: JSON, @FILE, or - (stdin)"
    )
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")


def skip(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """End a step that waits as SKIPPED; of an ended run, one that has failed: the run goes on."""
    item = _item(options)

    def change(run: Execution) -> None:
        control.skip_step(run.tenant_id, run.id, options["key"], item, actor=COMMAND)

    _decide(command, options, change, "skipped", "Skip step {} of the run?")


def succeed(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """End a step that waits as SUCCEEDED, with an output; of an ended run as :func:`skip`."""
    text = options["output"]
    output = None if text is None else json_value(text, "--output", "#/output")
    item = _item(options)

    def change(run: Execution) -> None:
        control.succeed_step(run.tenant_id, run.id, options["key"], output, item, actor=COMMAND)

    _decide(command, options, change, "marked as succeeded", "Mark step {} as succeeded?")


def _item(options: Mapping[str, Any]) -> int | None:
    item: int | None = options["item"]
    if item is not None and item < 0:
        raise wrong_use("--item", "items are counted from 0")
    return item


def approve(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Approve a step that waits for it, or refuse it."""
    approved = not options["reject"]
    if len(options["note"]) > NOTE_LENGTH:
        raise wrong_use("--note", f"at most {NOTE_LENGTH} characters")

    def change(run: Execution) -> None:
        control.approve_step(
            run.tenant_id,
            run.id,
            options["key"],
            approved=approved,
            take=options["take"],
            note=options["note"],
            actor=COMMAND,
        )

    done = "approved" if approved else "rejected"
    question = "Approve step {}?" if approved else "Reject step {}? It fails."
    _decide(command, options, change, done, question)


def signal(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Release every step that waits for an event."""
    name, correlation, text = (options[key] for key in ("name", "correlation", "payload"))
    for option, value in (("EVENT", name), ("--correlation", correlation)):
        if len(value) > NAME_LENGTH:
            raise wrong_use(option, f"at most {NAME_LENGTH} characters")
    if not name:
        raise wrong_use("EVENT", "give the name of the event")
    payload = None if text is None else json_value(text, "--payload", "#/payload")
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        signal_id, told = send_signal(tenant.id, name, correlation, payload, actor=COMMAND)
    document = {
        "id": str(signal_id),
        "tenant_id": str(tenant.id),
        "name": name,
        "correlation": correlation,
        "released": told,
    }
    what = shown(f"{name} {correlation}".rstrip(), 60)
    command.emit(options, document, [f"sent {what}: {told} waiting step{'' if told == 1 else 's'}"])
    if not told:
        command.note("It is kept for a day, for steps of runs under way that will wait for it.")


def _decide(
    command: PunctualCommand,
    options: Mapping[str, Any],
    change: Callable[[Execution], None],
    done: str,
    question: str,
) -> None:
    run = find_run(options["run"], options["tenant"])
    command.confirm(options, question.format(repr(shown(options["key"], 63))))
    with transaction.atomic(durable=True):
        change(run)
    document = {**present_run(run.tenant_id, run.id), "tenant_id": str(run.tenant_id)}
    if options["json"]:
        note_shown("run", [document])
    command.emit(options, document, _lines(document, options["key"], done))


def _lines(found: Mapping[str, Any], key: str, done: str) -> Iterator[str]:
    yield f"step {shown(key, 63)} {done}"
    yield f"run {found['id']} is {found['status']}"
