"""``manage.py tasks test``: send what a task sends, once, now, marked as a test.

Nothing of it is in the task's history; the verdict is the one that an execution would get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.management.finding import find_task
from executions.presentation_stats import present_test
from executions.services.test_delivery import send_test_of_task
from shared.actor import COMMAND
from shared.commands import FAILED, PunctualCommand, shown


def add_options(parser: CommandParser) -> None:
    """Add the options of ``test``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Send the request and say what came of it; leave with 1 when it would count as failed."""
    task = find_task(options["id"], options["tenant"])
    result = present_test(send_test_of_task(task.tenant_id, task.id, actor=COMMAND))
    answer, error = result["response"], result["error"]
    called = f"{result['request']['method']} {shown(result['request']['url'])}"
    lines = [f"{result['outcome']}: {called}"]
    if answer:
        lines.append(f"answer {answer['status']}")
    if error:
        lines.append(shown(f"{error['code']}: {error['message']}"))
    command.emit(options, result, lines)
    if error:
        command.leave(FAILED)
