"""``manage.py tasks diff``: what differs between two versions of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from insight.version_diff import CHANGED, LEFT_OUT, MOST_LINES, VersionDiff, compare_versions
from operations.finding import find_task
from operations.payload_readings import note_shown
from shared.commands import PunctualCommand
from shared.instants import format_instant


def add_options(parser: CommandParser) -> None:
    """Add the options of ``diff``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("before", nargs="?", type=int, help="a version (the one before AFTER)")
    parser.add_argument("after", nargs="?", type=int, help="a version (the one in force)")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the lines that differ, and some around them."""
    task = find_task(options["id"], options["tenant"])
    after = options["after"] or task.version
    before = options["before"] or max(1, after - 1)
    found = compare_versions(task, before, after)
    document = {
        "id": str(task.pk),
        "before": _version(found.before),
        "after": _version(found.after),
        "differs": found.differs,
        "complete": not found.cut,
        "lines": [
            {"kind": line.kind, "before": line.before, "after": line.after, "count": line.count}
            for line in found.lines
        ],
    }
    note_shown("task", [{"id": str(task.pk), "tenant_id": str(task.tenant_id)}])
    command.emit(options, document, _lines(found))
    if found.cut:
        command.note(f"compared are the first {MOST_LINES:,} lines of each version")


def _version(revision: Any) -> dict[str, Any]:
    return {
        "version": revision.version,
        "changed_by": revision.changed_by,
        "created_at": format_instant(revision.created_at),
    }


def _lines(found: VersionDiff) -> Iterator[str]:
    yield f"--- version {found.before.version}, by {found.before.changed_by}"
    yield f"+++ version {found.after.version}, by {found.after.changed_by}"
    if not found.differs:
        yield "no difference"
        return
    for line in found.lines:
        if line.kind == LEFT_OUT:
            yield f"@@ {line.count} equal lines @@"
        elif line.kind == CHANGED:
            yield from (f"-{text}" for text in (line.before,) if text is not None)
            yield from (f"+{text}" for text in (line.after,) if text is not None)
        else:
            yield f" {line.before}"
