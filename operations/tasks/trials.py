"""``manage.py tasks test``: send what a task sends, once, now, marked as a test.

The task's history does not record it; the verdict is the one that an execution would get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.triggering.receiver_target import DEFAULT_PATH, read_path
from executions.triggering.test_delivery import send_test_of_task
from insight.presentation.statistics import present_test
from operations.finding import find_task
from operations.payload_readings import note_shown
from shared.actor import COMMAND
from shared.commands import FAILED, PunctualCommand, shown, wrong_use


def add_options(parser: CommandParser) -> None:
    """Add the options of ``test``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument(
        "--to-receiver",
        metavar="PATH",
        nargs="?",
        const=DEFAULT_PATH,
        help="send it to the built-in receiver instead, without secrets: /ok, /status/503, …",
    )


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Send the request and print the result; leave with 1 when it would count as failed."""
    task = find_task(options["id"], options["tenant"])
    path = options["to_receiver"]
    try:
        path = path if path is None else read_path(path)
    except ValueError as wrong:
        raise wrong_use("--to-receiver", str(wrong)) from wrong
    sent = send_test_of_task(task.tenant_id, task.id, actor=COMMAND, receiver_path=path)
    result = present_test(sent)
    answer, error = result["response"], result["error"]
    called = f"{result['request']['method']} {shown(result['request']['url'])}"
    lines = [f"{result['outcome']}: {called}"]
    if answer:
        lines.append(f"answer {answer['status']}")
    if path is not None:
        lines.append("the receiver got it" if result["received"] else "nothing arrived")
    if error:
        lines.append(shown(f"{error['code']}: {error['message']}"))
    if options["json"]:
        note_shown("task", [{"id": str(task.id), "tenant_id": str(task.tenant_id)}])
    command.emit(options, result, lines)
    if error:
        command.leave(FAILED)
