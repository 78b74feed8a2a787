"""``manage.py tasks what-if``: what an edit would change of a task's instants; nothing is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.forecast.what_if import preview_edit
from operations.finding import find_task
from operations.tasks import body as task_body
from operations.tasks.editing import add_edit_body, given_body
from shared.commands import PunctualCommand, shown, wrong_use
from shared.exceptions import InvalidInput

#: Instants that the text lists of each kind; ``--json`` has them all.
_LISTED = 10
_SIGNS = {"kept": " ", "added": "+"}


def add_options(parser: CommandParser) -> None:
    """Add the options, which are those of ``edit``."""
    add_edit_body(parser)
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Compare the next instants with those after the edit."""
    body = given_body(options)
    if not body:
        raise wrong_use("what-if", "say what would change, such as --cron or --set")
    task = find_task(options["id"], options["tenant"])
    try:
        found = preview_edit(task.tenant_id, task.id, body, now=database_now())
    except InvalidInput as error:
        raise task_body.spoken(error, by_option=options["file"] is None) from error
    command.emit(options, {"id": str(task.id), **found}, _lines(found))
    command.note("nothing was changed; `manage.py tasks edit` with the same options saves it")


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"before: {shown(found['text_before'])}"
    yield f"after:  {shown(found['text'])}"
    rates = found["runs_per_day"]
    yield f"runs a day: {_rate(rates['before'])} → {_rate(rates['after'])}"
    kept = sum(one["change"] == "kept" for one in found["occurrences"])
    added = len(found["occurrences"]) - kept
    yield f"of the next {len(found['occurrences'])}: {kept} kept, {added} added"
    for one in found["occurrences"][:_LISTED]:
        local = datetime.fromisoformat(one["local"])
        notes = "".join(f"  {note}" for note in one["notes"])
        yield f"  {_SIGNS[one['change']]} {local:%a %Y-%m-%d %H:%M:%S %z}  {one['utc']}{notes}"
    if found["removed"]:
        yield f"removed: {len(found['removed'])}"
        yield from (f"  - {at}" for at in found["removed"][:_LISTED])
    busiest = found["busiest_minute"]
    if busiest and busiest["others"]:
        yield f"busiest minute: {busiest['at']} with {busiest['others']} other starts"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
