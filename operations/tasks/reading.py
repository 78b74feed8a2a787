"""``manage.py tasks list``, ``show`` and ``export``: the same documents as those of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.filter_language.conditions import tasks_matching
from insight.filter_language.fields import TASKS
from insight.list_budget import TASKS_ADVICE, read_list
from insight.list_orders import TASK_ORDERS, in_order
from insight.presentation.tasks import present_tasks
from insight.task_fires import fires_of
from operations.finding import (
    ID_TAIL,
    add_list_filter,
    filter_option,
    find_task,
    order_option,
    scope_of,
    tasks_of,
)
from operations.list_files import add_file_options, print_file, shown_limit
from operations.payload_readings import note_shown
from shared.commands import PunctualCommand, shown, table, wrong_use
from shared.exceptions import Conflict
from shared.instants import format_local
from tasks.budgets.keeping import present_use
from tasks.choices import IN_ORDER, WORKFLOW, TaskStatus, TaskType
from tasks.definition import WORKFLOW_POOL
from tasks.export_keys import FIELD, key_of
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tasks.schedules.zones import find_zone
from tasks.validation.bodies import LONG_FIELDS

NAME_WIDTH = 33
_FIRES = 5
_EXPORT_PAGE = 500


def add_filters(parser: CommandParser) -> None:
    """Add the options that choose tasks."""
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument(
        "--status",
        action="extend",
        nargs="+",
        choices=TaskStatus.values,
        metavar="STATE",
        help=f"only tasks in these states: {', '.join(TaskStatus.values)}",
    )
    parser.add_argument("--type", choices=TaskType.values, help="only tasks of this type")
    parser.add_argument("--label", metavar="KEY[:VALUE]", help="only tasks with this label")
    parser.add_argument("--owner", help="only tasks of this owner")
    parser.add_argument(
        "--destination", metavar="HOST", help="only tasks whose webhook calls this host"
    )
    parser.add_argument("--q", metavar="TEXT", help="only names or labels with this text")


def add_list_options(parser: CommandParser) -> None:
    """Add the options of ``list``."""
    add_filters(parser)
    add_file_options(parser)
    add_list_filter(parser, "label:team:billing status:paused", TASK_ORDERS)
    parser.add_argument("--wide", action="store_true", help="full ids and names")


def add_show_options(parser: CommandParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def add_export_options(parser: CommandParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("ids", metavar="ID", nargs="*", help="these tasks; otherwise by filter")
    add_filters(parser)


def list_tasks(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """List tasks, newest first unless asked otherwise."""
    wanted = filter_option(options["filter"], TASKS)
    order = order_option(options["ordering"], TASK_ORDERS, "-created_at")
    found = tasks_of(options["tenant"]).filtered(options)
    if wanted is not None:
        found = tasks_matching(found, wanted, scope_of(options["tenant"]))
    found = in_order(found, order)
    if print_file(command, options, "tasks", found, order=order):
        return
    limit = shown_limit(options)
    total, tasks = read_list(
        lambda: (found.count(), list(found.order_by(*order)[:limit])), advice=TASKS_ADVICE
    )
    shown_tasks = documents(tasks)
    lines = _list_lines(command, shown_tasks, wide=options["wide"])
    if options["json"]:
        note_shown("task", shown_tasks)
    command.emit(options, {"tasks": shown_tasks, "total": total}, lines)
    if total > len(tasks):
        command.note(f"{len(tasks)} of {total} tasks; see more with --limit")


def show_task(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show one task."""
    task = find_task(options["id"], options["tenant"])
    document = {**documents([task])[0], "budget_use": present_use(task)}
    if options["json"]:
        note_shown("task", [document])
    command.emit(options, document, show_lines(task, document))


def export_tasks(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the definitions of tasks as JSON that ``create --file`` takes; no workflows.

    Raise Conflict for an incomplete task: a copy of it would have no payload.
    """
    definitions = []
    for page in _pages(_chosen(options)):
        found = documents(page)
        note_shown("task", found)
        definitions += [
            {FIELD: str(key_of(task)), **definition_in(document)}
            for task, document in zip(page, found, strict=True)
        ]
    command.emit({**options, "json": True}, {"tasks": definitions}, [])
    command.note(
        f"{len(definitions)} tasks; `manage.py tasks create --file -` creates the missing ones"
    )


def refuse_workflow(task: Task, instead: str) -> None:
    """Raise Conflict for a workflow, whose steps are not in the definition of its task."""
    if task.pool == WORKFLOW_POOL:
        raise Conflict(f"{shown(task.name, 40)} is a workflow: use `manage.py {instead}`.")


def definition_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition in a task's document; raise Conflict for an incomplete one."""
    if "missing" in document:
        raise Conflict(f"Task {document['id']}: {document['missing']}")
    return {key: document[key] for key in LONG_FIELDS if key in document}


def documents(tasks: list[Task]) -> list[dict[str, Any]]:
    """Return tasks as the API presents them, each with its tenant."""
    return [
        {**document, "tenant_id": str(task.tenant_id)}
        for task, document in zip(tasks, present_tasks(tasks), strict=True)
    ]


def show_lines(task: Task, document: Mapping[str, Any]) -> Iterator[str]:
    """Return a task as people read it: facts, and its next times in its zone."""
    zone = document["schedule"]["timezone"]
    labels = " ".join(f"{key}={value}" for key, value in document["labels"].items())
    facts = (
        ("id", document["id"]),
        ("tenant", document["tenant_id"]),
        ("name", document["name"]),
        ("status", _status(document)),
        ("version", str(document["version"])),
        ("schedule", document["schedule_text"]),
        ("calls", _called(document["target"])),
        *((("payload", document["payload_ref"]),) if document["payload_ref"] else ()),
        ("labels", labels or "-"),
        ("owner", document["owner"] or "-"),
        *((("key", _key(document["concurrency"])),) if "concurrency" in document else ()),
        *((("targets", _targets(document["targets"])),) if "targets" in document else ()),
        *((("depends", ", ".join(document["depends_on"])),) if document["depends_on"] else ()),
        *(("budget", line) for line in budget_lines(document.get("budget_use", ()))),
        ("last", _last(document["last_execution"])),
        *((("missing", document["missing"]),) if "missing" in document else ()),
    )
    for name, value in facts:
        yield f"{name:<9} {shown(value)}"
    info = find_zone(zone).info
    for fire in fires_of(task, _FIRES, now=database_now()):
        spread = f" (for {format_local(fire.at, info)})" if fire.due_at != fire.at else ""
        yield f"{'next':<9} {format_local(fire.due_at, info)} {zone}{spread}"


def budget_lines(use: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return a line for each budget: what is used of it, and until when that counts."""
    for one in use:
        yield (
            f"{one['used']} of {one['limit']} {one['unit']} in this {one['per']}, "
            f"until {one['resets_at']}"
        )


def _targets(targets: Mapping[str, float | None]) -> str:
    words = {"start_within_seconds": "starts within", "max_duration_seconds": "runs no longer than"}
    return ", ".join(f"{words[name]} {value:g} s" for name, value in targets.items() if value)


def _key(shared: Mapping[str, Any]) -> str:
    how = "strictly in order" if shared["order"] == IN_ORDER else f"{shared['max']} at a time"
    return f"{shared['key']} ({how})"


def _chosen(options: Mapping[str, Any]) -> TaskQuerySet:
    names = ("status", "type", "label", "owner", "destination", "q")
    filters = {name: options[name] for name in names}
    # Their steps are no part of a task's definition; `workflows show --json` has them.
    rows = tasks_of(options["tenant"]).exclude(pool=WORKFLOW_POOL)
    if not options["ids"]:
        return rows.filtered(filters)
    if any(value is not None for value in filters.values()):
        raise wrong_use("ID", "give ids or filters, not both")
    found = [find_task(word, options["tenant"]) for word in options["ids"]]
    for task in found:
        refuse_workflow(task, "workflows show ID --json")
    return rows.filtered({"ids": [task.id for task in found]})


def _pages(found: TaskQuerySet) -> Iterator[list[Task]]:
    ordered = found.order_by("id")
    page = list(ordered[:_EXPORT_PAGE])
    while page:
        yield page
        page = list(ordered.filter(id__gt=page[-1].id)[:_EXPORT_PAGE])


def _list_lines(command: PunctualCommand, tasks: list[dict[str, Any]], *, wide: bool) -> list[str]:
    rows = []
    for task in tasks:
        moment = (task["next_execution_due_at"] or "-")[:19].replace("T", " ")
        tail = task["id"] if wide else task["id"][-ID_TAIL:]
        name = task["name"] if wide else shown(task["name"], NAME_WIDTH)
        rows.append((tail, task["status"], moment, name))
    return table(("id", "status", "next run (UTC)", "name"), rows, command.paint)


def _status(document: Mapping[str, Any]) -> str:
    until = f" until {document['paused_until']}" if document["paused_until"] else ""
    note = f" ({document['pause_note']})" if document["pause_note"] else ""
    return f"{document['status']}{until}{note}"


def _called(target: Mapping[str, Any]) -> str:
    kind = target["kind"]
    if kind == "webhook":
        return f"{target['method']} {target['url']}"
    if kind == "command":
        return " ".join([f"command {target['command']}", *target["arguments"]])
    if kind == WORKFLOW:
        return "a workflow; `workflows show` has its steps"
    where = f" in the pool {target['pool']}" if kind == "pool" else ""
    return f"handler {target['handler']}{where}"


def _last(execution: Mapping[str, Any] | None) -> str:
    if execution is None:
        return "has not run"
    return f"{execution['status']} at {execution['at']}, execution {execution['id']}"
