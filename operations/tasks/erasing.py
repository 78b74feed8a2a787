"""``manage.py tasks erase``: delete a task and erase the content of its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.erasure.requests import erase_task, get_erasure
from executions.erasure.steps import run_some
from insight.presentation.erasures import present_erasure
from operations.finding import find_row, find_task
from shared.actor import COMMAND
from shared.commands import PunctualCommand, with_former_names
from shared.exceptions import NotFound
from tasks.models import Task
from tenants.services import get_tenant


def add_note(parser: CommandParser) -> None:
    """Add the reason of an erasure, which stays."""
    with_former_names(
        parser.add_argument(
            "--note",
            "--reason",
            dest="reason",
            required=True,
            help="why: one line that stays; name no person",
        )
    )


def add_options(parser: CommandParser) -> None:
    """Add the task, the reason and the tenant."""
    parser.add_argument("id", metavar="ID", help="id of a task, or its end; deleted ones too")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    add_note(parser)


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Erase the task here; the system worker goes on where running executions have to end first."""
    task = _find(options["id"], options["tenant"])
    question = f"Erase {task.name!r} and all content of its executions? That cannot be undone."
    command.confirm(options, question)
    with transaction.atomic(durable=True):
        erasure = erase_task(task.tenant_id, task.id, reason=options["reason"], actor=COMMAND)
    while run_some(erasure.id):
        pass
    erasure = get_erasure(erasure.tenant_id, erasure.id)
    command.emit(options, present_erasure(erasure), [f"{erasure.status}  erasure {erasure.id}"])
    if erasure.ended_at is None:
        command.note("Executions are still ending. The system worker completes the erasure.")


def _find(text: str, tenant: str | None) -> Task:
    try:
        return find_task(text, tenant)
    except NotFound:
        found = Task.objects.all()
        if tenant is not None:
            found = found.filter(tenant_id=get_tenant(tenant).id)
        task: Task = find_row(found, text, "task")
        return task
