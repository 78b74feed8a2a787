"""``manage.py workflows list`` and ``show``: the same documents as those of the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from insight.presentation.workflows import present_workflows
from operations.finding import ID_TAIL
from operations.payload_readings import note_shown
from operations.tasks.reading import budget_lines
from operations.workflows.finding import add_tenant, add_workflow, find_workflow, workflows_of
from shared.commands import PunctualCommand, shown, table
from tasks.budgets.keeping import present_use
from tasks.choices import TaskStatus
from tasks.models import Task

_NAME_WIDTH = 30
_CALL_WIDTH = 34


def add_list_options(parser: CommandParser) -> None:
    """Add the options of ``list``."""
    add_tenant(parser)
    parser.add_argument(
        "--status",
        action="extend",
        nargs="+",
        choices=TaskStatus.values,
        metavar="STATE",
        help=f"only workflows in these states: {', '.join(TaskStatus.values)}",
    )
    parser.add_argument("--label", metavar="KEY[:VALUE]", help="only workflows with this label")
    parser.add_argument("--owner", help="only workflows of this owner")
    parser.add_argument("--q", metavar="TEXT", help="only names or labels with this text")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full ids and names")


def add_show_options(parser: CommandParser) -> None:
    """Add the options of ``show``."""
    add_workflow(parser)


def list_workflows(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """List workflows, newest first."""
    filters = {name: options[name] for name in ("status", "label", "owner", "q")}
    found = workflows_of(options["tenant"]).filtered(filters)
    total = found.count()
    page = list(found.order_by("-created_at", "-id")[: max(0, options["limit"])])
    shown_workflows = documents(page)
    lines = _list_lines(command, shown_workflows, wide=options["wide"])
    if options["json"]:
        note_shown("task", shown_workflows)
    command.emit(options, {"workflows": shown_workflows, "total": total}, lines)
    if total > len(page):
        command.note(f"{len(page)} of {total} workflows; see more with --limit")


def show_workflow(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show one workflow with its steps."""
    task = find_workflow(options["id"], options["tenant"])
    document = {**documents([task])[0], "budget_use": present_use(task)}
    if options["json"]:
        note_shown("task", [document])
    command.emit(options, document, _show_lines(document))


def documents(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return workflows as the API presents them, each with its tenant."""
    return [
        {**document, "tenant_id": str(task.tenant_id)}
        for task, document in zip(tasks, present_workflows(tasks), strict=True)
    ]


def _list_lines(
    command: PunctualCommand, found: Sequence[Mapping[str, Any]], *, wide: bool
) -> list[str]:
    rows = []
    for one in found:
        last = one["last_execution"]
        rows.append(
            (
                one["id"] if wide else one["id"][-ID_TAIL:],
                one["status"],
                len(one["steps"]),
                (one["next_execution_due_at"] or "-")[:19].replace("T", " "),
                "-" if last is None else last["status"],
                one["name"] if wide else shown(one["name"], _NAME_WIDTH),
            )
        )
    heading = ("id", "status", "steps", "next run (UTC)", "last run", "name")
    return table(heading, rows, command.paint)


def _show_lines(found: Mapping[str, Any]) -> Iterator[str]:
    labels = " ".join(f"{key}={value}" for key, value in found["labels"].items())
    facts = (
        ("id", found["id"]),
        ("tenant", found["tenant_id"]),
        ("name", found["name"]),
        ("status", _status(found)),
        ("version", str(found["version"])),
        ("schedule", found["schedule_text"]),
        ("next", found["next_execution_local"]),
        ("on failure", found["on_failure"]),
        ("deadline", _deadline(found)),
        ("at a time", found["max_concurrent"] and str(found["max_concurrent"])),
        *(("budget", line) for line in budget_lines(found["budget_use"])),
        ("labels", labels or None),
        ("owner", found["owner"]),
        ("missing", found.get("missing")),
    )
    for name, value in facts:
        if value is not None:
            yield f"{name:<10} {shown(value)}"
    yield ""
    rows = (
        (step["key"], _does(step), ", ".join(step["depends_on"]) or "-", step["condition"])
        for step in found["steps"]
    )
    yield from table(("step", "does", "after", "condition"), rows)


def _status(found: Mapping[str, Any]) -> str:
    until = f" until {found['paused_until']}" if found["paused_until"] else ""
    note = f" ({found['pause_note']})" if found["pause_note"] else ""
    return f"{found['status']}{until}{note}"


def _deadline(part: Mapping[str, Any]) -> str | None:
    if part["deadline_seconds"] is not None:
        return f"{part['deadline_seconds']:g} s after the begin"
    if part["deadline_at"] is None:
        return None
    return f"by {part['deadline_at']} {part['deadline_timezone'] or ''}".rstrip()


def _does(step: Mapping[str, Any]) -> str:
    kind = step["kind"]
    said = kind
    if kind == "target":
        said = _called(step["target"])
    elif kind == "workflow":
        said = f"workflow {step['workflow_id'][-ID_TAIL:]}"
    elif kind == "delay":
        said = f"delay of {step['delay_seconds']:g} s"
    elif kind == "wait_for_event":
        said = f"event {step['event']}"
    if step.get("for_each") is not None:
        return f"{shown(said, _CALL_WIDTH)}, for each item"
    return shown(said, _CALL_WIDTH)


def _called(target: Mapping[str, Any]) -> str:
    kind = target["kind"]
    if kind == "webhook":
        return f"{target['method']} {target['url']}"
    name = target.get("handler") or target.get("command") or target.get("pool") or ""
    return f"{kind} {name}".rstrip()
