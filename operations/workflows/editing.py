"""``manage.py workflows create``, ``edit`` and ``delete``: by the API's JSON, or that as YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.changes import changing
from executions.loop.clocks import database_now
from operations import field_changes, many
from operations.definition_files import read_definition as read_file
from operations.finding import ID_TAIL
from operations.payload_readings import note_shown
from operations.tasks.body import spoken
from operations.tenancy import chosen_tenant
from operations.workflows.finding import add_tenant, add_workflow, find_workflow
from operations.workflows.reading import documents
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, wrong_use
from shared.exceptions import InvalidInput, VersionMismatch
from shared.instants import format_local
from tasks import standing_pauses
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.definition import Definition
from tasks.editing import spec_of
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.bodies import StatusChange
from tasks.validation.workflow import (
    READ_ONLY_FIELDS,
    parse_workflow,
    parse_workflow_patch,
    workflow_fields,
)

_FIRES = 3
#: What ``show --json`` prints beside a definition; a file may have it.
_SHOWN = {"schema", "tenant_id", *READ_ONLY_FIELDS}


def add_create_options(parser: CommandParser) -> None:
    """Add the options of ``create``."""
    parser.add_argument(
        "--file", metavar="FILE", required=True, help="the workflow, YAML or JSON; - is stdin"
    )
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument("--dry-run", action="store_true", help="check it, create nothing")


def add_edit_options(parser: CommandParser) -> None:
    """Add the options of ``edit``."""
    add_workflow(parser)
    parser.add_argument(
        "--file",
        metavar="FILE",
        required=True,
        help="the fields to change, YAML or JSON; - is stdin. A list of steps replaces all steps",
    )
    parser.add_argument(
        "--version",
        type=int,
        dest="expected_version",
        metavar="N",
        help="only if the workflow is still at this version",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change")


def add_delete_options(parser: CommandParser) -> None:
    """Add the options of ``delete``."""
    parser.add_argument(
        "ids", metavar="ID", nargs="+", help="ids, or their ends as the list shows them"
    )
    add_tenant(parser)
    parser.add_argument("--dry-run", action="store_true", help="show which, change nothing")
    parser.add_argument("--cancel-running", action="store_true", help="also cancel its open runs")


def create_workflow(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Create a workflow from a file."""
    body, dry = _body_of(options), options["dry_run"]
    tenant = chosen_tenant(options["tenant"])
    with transaction.atomic(durable=True):
        # From here on no calendar that it names is deleted.
        standing_pauses.share_active(tenant.id)
        now = database_now()
        try:
            definition = parse_workflow(body, now=now, limits=limits_of(tenant.id))
        except InvalidInput as error:
            raise spoken(error, by_option=False) from error
        task = create_task(tenant.id, definition, actor=COMMAND, now=now)
        document = documents([task])[0]
        if dry:
            transaction.set_rollback(True)
    if dry:
        # After the rollback no workflow has this id.
        document = {**document, "id": None}
    lines = _made_lines(task, len(definition.target["steps"]), dry=dry)
    command.emit(options, {"dry_run": dry, "workflow": document}, lines)
    if dry:
        command.note("nothing was created: --dry-run")
    else:
        tail = str(task.id)[-ID_TAIL:]
        command.note(f"Try it: manage.py workflows run {tail}")


def edit_workflow(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Merge an edit into a workflow, as PATCH does; runs under way keep their version."""
    body = _body_of(options)
    if not body:
        raise wrong_use("--file", "give the fields to change, such as name or steps")
    task = find_workflow(options["id"], options["tenant"])

    def edit(current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        limits = limits_of(task.tenant_id)
        return parse_workflow_patch(body, now=now, limits=limits, current=current)

    before = read_definition(task)
    try:
        task, after = _edited(task, edit, before, options)
    except InvalidInput as error:
        raise spoken(error, by_option=False) from error
    found = list(
        field_changes.changes(
            _by_key(before, secrets=True),
            _by_key(after, secrets=True),
            _by_key(before),
            _by_key(after),
        )
    )
    [shown_workflow] = documents([task])
    document = {"dry_run": options["dry_run"], "changes": found, "workflow": shown_workflow}
    if options["json"] or field_changes.show_payload(found):
        note_shown("task", [shown_workflow])
    command.emit(options, document, field_changes.change_lines(found))
    if options["dry_run"]:
        command.note("nothing was changed: --dry-run")
    else:
        command.note(f"The workflow is at version {task.version}; open runs keep theirs.")


def delete_workflows(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Delete workflows; their runs stay readable."""
    outcomes = many.resolve(options["ids"], lambda word: find_workflow(word, options["tenant"]))
    for outcome in outcomes:
        if outcome.row is not None:
            outcome.facts = {"name": outcome.row.name, "status": str(outcome.row.status)}
    if options["dry_run"]:
        many.report(command, options, outcomes, "would be deleted", lambda task: task.name)
        return
    found = [outcome.row for outcome in outcomes if outcome.row is not None]
    if found:
        what = repr(found[0].name) if len(found) == 1 else f"these {len(found)} workflows"
        command.confirm(options, f"Delete {what}? That cannot be undone.")

    def act(task: Task) -> dict[str, Any]:
        changing.delete_task(
            task.tenant_id, task.id, actor=COMMAND, cancel_running=options["cancel_running"]
        )
        return {"name": task.name, "status": "DELETED"}

    many.perform(command, outcomes, "deleted", act)
    many.report(command, options, outcomes, "deleted", lambda task: task.name)


def _body_of(options: Mapping[str, Any]) -> Any:
    """Return what the file holds, without what ``show --json`` adds to a definition."""
    body = read_file(options["file"])
    if isinstance(body, dict) and body.get("schema") == 1:
        return {key: value for key, value in body.items() if key not in _SHOWN}
    return body


def _edited(
    task: Task, edit: changing.Edit, before: Definition, options: Mapping[str, Any]
) -> tuple[Task, Definition]:
    expected = options["expected_version"]
    if options["dry_run"]:
        if expected is not None and expected != task.version:
            raise VersionMismatch(f"The workflow is at version {task.version}, not {expected}.")
        return task, edit(before, database_now())[0]
    with transaction.atomic(durable=True):
        task = changing.edit_task(
            task.tenant_id, task.id, edit, actor=COMMAND, expected_version=expected
        )
    return task, read_definition(task)


def _by_key(definition: Definition, *, secrets: bool = False) -> dict[str, Any]:
    """Return the fields of a workflow with its steps by key, so that each is compared by itself."""
    fields = workflow_fields(definition, secrets=secrets)
    return {**fields, "steps": {step["key"]: dict(step) for step in fields["steps"]}}


def _made_lines(task: Task, steps: int, *, dry: bool) -> Iterator[str]:
    made = "would create" if dry else f"created {task.id}"
    yield f"{made}  {shown(task.name, 40)}, {steps} step{'' if steps == 1 else 's'}"
    spec = spec_of(task)
    yield f"  {shown(spec.text)}"
    for found in islice(spec.walk(task.created_at), _FIRES):
        yield f"  next {format_local(found.at, spec.zone.info)} {task.schedule['timezone']}"
