"""``manage.py tasks clone``: a new task from the definition of another one, with overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.loop.clocks import database_now
from operations.finding import ID_TAIL, find_task
from operations.payload_readings import note_shown
from operations.tasks import body
from operations.tasks.editing import add_edit_body, given_body, made_lines
from operations.tasks.reading import documents
from shared.actor import COMMAND
from shared.commands import PunctualCommand
from shared.exceptions import InvalidInput
from tasks.cloning import clone_task


def add_options(parser: CommandParser) -> None:
    """Add the options of ``clone``."""
    add_edit_body(parser)
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--dry-run", action="store_true", help="check it, create nothing")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Create a task from another one, in its tenant."""
    overrides, dry = given_body(options), options["dry_run"]
    source = find_task(options["id"], options["tenant"])
    try:
        with transaction.atomic(durable=True):
            made, _ = clone_task(
                source.tenant_id, source.id, overrides, actor=COMMAND, now=database_now()
            )
            [document] = documents([made])
            if dry:
                transaction.set_rollback(True)
    except InvalidInput as error:
        raise body.spoken(error, by_option=options["file"] is None) from error
    if options["json"]:
        note_shown("task", [{"id": str(source.id), "tenant_id": str(source.tenant_id)}])
    shown = {**document, "id": None} if dry else document
    command.emit(
        options,
        {"dry_run": dry, "source_id": str(source.id), "task": shown},
        list(made_lines(made, dry=dry)),
    )
    if dry:
        command.note("nothing was created: --dry-run")
    else:
        command.note(f"Try it: manage.py tasks run {str(made.id)[-ID_TAIL:]} --wait")
