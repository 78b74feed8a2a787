"""``manage.py tasks create``, ``edit``, ``rollback``: by options, or by the API's JSON.

``create --file`` takes the output of ``export``, any number of times: an existing task stays as it
is. Several tasks are created all or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from executions.changes import changing
from executions.loop.clocks import database_now
from operations import field_changes
from operations.files import read_json
from operations.finding import ID_TAIL, find_task
from operations.payload_readings import note_shown
from operations.tasks import body as task_body
from operations.tasks.reading import definition_in, documents, refuse_workflow
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, wrong_use
from shared.exceptions import InvalidInput, NotFound, VersionMismatch
from shared.instants import format_local
from tasks.bulk import MAX_TASKS, Call, Created, create_all
from tasks.calendars import limits_of
from tasks.choices import TaskStatus
from tasks.definition import Definition, to_long
from tasks.editing import spec_of
from tasks.export_keys import keep_keys, take_keys, tasks_by_key
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.bodies import StatusChange, parse_patch

_FIRES = 3
_ENVELOPE = {"tasks", "schema"}


def add_create_options(parser: CommandParser) -> None:
    """Add the options of ``create``."""
    task_body.add_options(parser)
    parser.add_argument(
        "--file", metavar="FILE", help="JSON of a task, a list, or an export; - is stdin"
    )
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument("--dry-run", action="store_true", help="check it, create nothing")


def add_edit_options(parser: CommandParser) -> None:
    """Add the options of ``edit``."""
    add_edit_body(parser)
    _add_editing_options(parser)


def add_edit_body(parser: CommandParser) -> None:
    """Add the task's id, and the options of its changes."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    task_body.add_options(parser)
    parser.add_argument("--file", metavar="FILE", help="JSON to merge into the task; - is stdin")


def _add_editing_options(parser: CommandParser) -> None:
    parser.add_argument(
        "--version",
        type=int,
        dest="expected_version",
        metavar="N",
        help="only if the task is still at this version",
    )
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--dry-run", action="store_true", help="show what would change")


def create_tasks(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Create one task from options, or all tasks of a file."""
    by_option = options["file"] is None
    given = [given_body(options)] if by_option else _bodies(given_body(options))
    bodies, keys = ([*given], [None]) if by_option else _keyed(given)
    tenant = chosen_tenant(options["tenant"])
    dry = options["dry_run"]
    with transaction.atomic(durable=True):
        there = tasks_by_key(tenant.id, keys)
        new = [place for place, key in enumerate(keys) if key not in there]
        try:
            tasks = _create(tenant.id, [bodies[place] for place in new])
        except InvalidInput as error:
            raise task_body.spoken(error, by_option=len(bodies) == 1 and by_option) from error
        keep_keys(tasks, [keys[place] for place in new])
        found = documents(tasks)
        if dry:
            transaction.set_rollback(True)
    if dry:
        # After the rollback no task has these ids.
        found = [{**document, "id": None} for document in found]
    same = _unchanged(there, {key: body for key, body in zip(keys, bodies, strict=True) if key})
    lines = (line for task in tasks for line in made_lines(task, dry=dry))
    command.emit(
        options,
        {"dry_run": dry, "tasks": found, "unchanged": same},
        [*lines, *(_unchanged_line(one) for one in same)],
    )
    _conclude(command, tasks, same, dry=dry)


def _keyed(given: list[Any]) -> tuple[list[Any], list[UUID | None]]:
    try:
        return take_keys(given)
    except InvalidInput as error:
        raise task_body.spoken(error, by_option=False) from error


def _create(tenant_id: UUID, bodies: list[Any]) -> list[Task]:
    call = Call(tenant_id, COMMAND, database_now(), limits_of(tenant_id))
    return [made.task for made in create_all(bodies, call) if isinstance(made, Created)]


def _unchanged(there: Mapping[UUID, Task], given: Mapping[UUID, Any]) -> list[dict[str, Any]]:
    """Return the tasks that exist already, and whether the given bodies differ from them."""
    there = {key: there[key] for key in given if key in there}  # in the order of the file
    shown_tasks = documents(list(there.values()))
    return [
        {
            "key": str(key),
            "id": document["id"],
            "name": document["name"],
            "differs": "missing" in document or _differs(there[key], document, given[key]),
        }
        for key, document in zip(there, shown_tasks, strict=True)
    ]


def _differs(task: Task, document: Mapping[str, Any], given: Any) -> bool:
    """Return whether a body differs from its task; secrets may be masked or not."""
    whole = to_long(read_definition(task), secrets=True)
    return given not in (definition_in(document), whole)


def _unchanged_line(one: Mapping[str, Any]) -> str:
    differs = " and differs; it stays as it is" if one["differs"] else ""
    return f"is there already{differs}: {one['id']}  {shown(one['name'], 40)}"


def _conclude(
    command: PunctualCommand, tasks: list[Task], same: list[dict[str, Any]], *, dry: bool
) -> None:
    if dry:
        command.note("nothing was created: --dry-run")
    elif same:
        command.note(f"{len(tasks)} created, {len(same)} there already")
    elif len(tasks) == 1:
        tail = str(tasks[0].id)[-ID_TAIL:]
        command.note(f"Try it: manage.py tasks run {tail} --wait")


def edit_task(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Merge an edit into a task, as PATCH does."""
    body = given_body(options)
    if not body:
        raise wrong_use("edit", "say what to change, such as --cron or --set")
    task = find_task(options["id"], options["tenant"])
    refuse_workflow(task, "workflows edit ID --file FILE")

    def edit(current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        return parse_patch(current, body, now=now, limits=limits_of(task.tenant_id))

    try:
        _apply(command, options, task, edit)
    except InvalidInput as error:
        raise task_body.spoken(error, by_option=options["file"] is None) from error


def add_rollback_options(parser: CommandParser) -> None:
    """Add the options of ``rollback``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("to", metavar="VERSION", type=int, help="the version to bring back")
    _add_editing_options(parser)


def rollback_task(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Bring an earlier version of a task back, as a new version."""
    task = find_task(options["id"], options["tenant"])
    if not 1 <= options["to"] <= task.version:
        raise NotFound(f"The task has no version {options['to']}.")
    earlier = read_definition(task, options["to"])
    _apply(command, options, task, lambda current, now: (earlier, None))


def _apply(
    command: PunctualCommand, options: Mapping[str, Any], task: Task, edit: changing.Edit
) -> None:
    before = read_definition(task)
    if options["dry_run"]:
        _require_version(task, options["expected_version"])
        after = edit(before, database_now())[0]
    else:
        with transaction.atomic(durable=True):
            task = changing.edit_task(
                task.tenant_id,
                task.id,
                edit,
                actor=COMMAND,
                expected_version=options["expected_version"],
            )
        after = read_definition(task)
    changes = list(
        field_changes.changes(
            to_long(before, secrets=True),
            to_long(after, secrets=True),
            to_long(before),
            to_long(after),
        )
    )
    [shown_task] = documents([task])
    document = {"dry_run": options["dry_run"], "changes": changes, "task": shown_task}
    if options["json"] or field_changes.show_payload(changes):
        note_shown("task", [shown_task])
    command.emit(options, document, field_changes.change_lines(changes))
    if options["dry_run"]:
        command.note("nothing was changed: --dry-run")
    else:
        command.note(f"The task is at version {task.version}.")


def given_body(options: Mapping[str, Any]) -> Any:
    """Return the body that options or a file give; raise InvalidInput for both."""
    body = task_body.body_of(options)
    if options["file"] is None:
        return body
    if body:
        raise wrong_use("--file", "the file says everything; leave the other options out")
    return read_json(options["file"], "--file")


def _bodies(found: Any) -> list[Any]:
    if isinstance(found, dict) and "tasks" in found and found.keys() <= _ENVELOPE:
        found = found["tasks"]
    bodies = found if isinstance(found, list) else [found]
    if not 1 <= len(bodies) <= MAX_TASKS:
        raise wrong_use("--file", f"give 1 to {MAX_TASKS} tasks, not {len(bodies)}")
    return bodies


def _require_version(task: Task, expected: int | None) -> None:
    if expected is not None and expected != task.version:
        raise VersionMismatch(f"The task is at version {task.version}, not {expected}.")


def made_lines(task: Task, *, dry: bool) -> Iterator[str]:
    """Yield the lines of a task that was created, or would be, with its first fires."""
    spec = spec_of(task)
    yield f"{'would create' if dry else f'created {task.id}'}  {shown(task.name, 40)}"
    yield f"  {shown(spec.text)}"
    if task.status == TaskStatus.SCHEDULED:
        for found in islice(spec.walk(task.created_at), _FIRES):
            yield f"  next {format_local(found.at, spec.zone.info)} {task.schedule['timezone']}"
