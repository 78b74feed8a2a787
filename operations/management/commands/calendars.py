"""``manage.py calendars``: days and windows that tasks keep free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.core.management.base import CommandParser

from executions.changes import calendar_changes
from operations.calendar_options import add_days, add_tenant, body_of
from operations.files import read_bytes
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, shown, table
from shared.exceptions import NotFound
from tasks import calendars
from tasks.calendar_content import Content, read_content
from tasks.calendar_import import Mode
from tasks.ical.limits import MAX_BYTES
from tasks.models import Calendar
from tasks.presentation_calendars import present_calendar, present_summary

_DAYS = 20


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    counts = calendars.counts_of_tasks(tenant.id)
    rows = calendars.summaries(tenant.id, options["q"]).order_by("name")
    found = [present_summary(row, counts.get(row.name, 0)) for row in rows]
    columns = ("name", "date_count", "window_count", "tasks")
    lines = table(
        ("name", "dates", "windows", "tasks"), ([one[key] for key in columns] for one in found)
    )
    command.emit(options, {"calendars": found, "total": len(found)}, lines)


def _show(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    _emit(command, options, _find(options))


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    body = {**body_of(options, Content("")), "name": options["name"]}
    _emit(command, options, calendars.create_calendar(tenant.id, read_content(body), actor=COMMAND))


def _edit(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _find(options)
    changed = calendar_changes.update_calendar(
        found.tenant_id,
        found.id,
        lambda content: read_content(body_of(options, content), content),
        actor=COMMAND,
        expected_version=options["version_seen"],
    )
    _emit(command, options, changed)


def _delete(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _find(options)
    command.confirm(options, f"Delete the calendar {found.name!r}?")
    calendar_changes.delete_calendar(found.tenant_id, found.id, actor=COMMAND)
    document = {"id": str(found.id), "name": found.name}
    command.emit(options, document, [f"deleted {shown(found.name)}"])


def _import(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    found = _find(options)
    mode = Mode(options["mode"])
    tenant_id = found.tenant_id
    days = calendar_changes.read_days(tenant_id, found.id, read_bytes(options["file"], MAX_BYTES))
    if options["dry_run"]:
        changed, imported = calendar_changes.preview_import(tenant_id, found.id, days, mode)
    else:
        changed, imported = calendar_changes.import_days(
            tenant_id, found.id, days, mode, actor=COMMAND
        )
    what = imported.present()
    document = {"imported": what, "calendar": _document(changed)}
    command.emit(options, document, _imported_lines(what))
    for line in _remarks(what):
        command.note(line)
    if options["dry_run"]:
        command.note("nothing was changed: --dry-run")


def _find(options: Mapping[str, Any]) -> Calendar:
    """Return the calendar of this name or id; raise NotFound."""
    word = options["name"]
    mine = Calendar.objects.for_tenant(chosen_tenant(options["tenant"]).id)
    found = mine.filter(name=word).first()
    if found is None:
        try:
            found = mine.filter(pk=UUID(word)).first()
        except ValueError:
            found = None
    if found is None:
        raise NotFound(f"There is no calendar {shown(word, 40)!r}.")
    return found


def _emit(command: PunctualCommand, options: Mapping[str, Any], found: Calendar) -> None:
    document = _document(found)
    command.emit(options, document, _lines(document))


def _document(found: Calendar) -> dict[str, Any]:
    return present_calendar(found, calendars.tasks_naming(found.tenant_id, found.name).count())


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    weekend = ",".join(map(str, document["weekend"])) or "none"
    for name in ("id", "name", "description", "version", "tasks"):
        yield f"{name:<12} {shown(str(document[name]))}"
    yield f"{'weekend':<12} {weekend}"
    for one in document["dates"][-_DAYS:]:
        yield f"{'date':<12} {one['date']} {shown(one['name'])}".rstrip()
    for one in document["windows"][-_DAYS:]:
        yield f"{'window':<12} {one['start']} {one['end']} {shown(one['name'])}".rstrip()
    for what in ("dates", "windows"):
        if len(document[what]) > _DAYS:
            yield f"{'':<12} the last {_DAYS} of {len(document[what])} {what}"
    report = document["last_import"]
    if report:
        yield f"{'imported':<12} {report['at']}, mode {report['mode']}"
        yield from _imported_lines(report)
        yield from _remarks(report)


def _imported_lines(what: Mapping[str, Any]) -> Iterator[str]:
    yield f"dates        {what['dates']}"
    yield f"windows      {what['windows']}"
    yield f"left out     {what['skipped_count']}"


def _remarks(what: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each event that was left out or read otherwise than written."""
    for key, word in (("skipped", "left out"), ("notes", "note")):
        for one in what[key]:
            event = ", ".join(shown(one[part], 40) for part in ("name", "uid") if one[part])
            yield f"{word}: line {one['line']}{', ' if event else ''}{event}: {one['reason']}"
        more = what[f"{key}_count"] - len(what[key])
        if more:
            yield f"{word}: {more} more"


def _add_list(parser: CommandParser) -> None:
    add_tenant(parser)
    parser.add_argument("--q", metavar="TEXT", help="only names with this text")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its name or id")
    add_tenant(parser)


def _add_create(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name that tasks use; it cannot change")
    add_tenant(parser)
    add_days(parser, removable=False)


def _add_edit(parser: CommandParser) -> None:
    _add_name(parser)
    add_days(parser, removable=True)
    parser.add_argument(
        "--version",
        dest="version_seen",
        type=int,
        metavar="N",
        help="only if it still is at this version",
    )


def _add_import(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("file", metavar="FILE", help="an .ics file; - is stdin")
    parser.add_argument(
        "--mode", choices=list(Mode), default=Mode.ADD, help="add to its days or replace them (add)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the report, change nothing")


class Command(VerbCommand):
    """List, show, make, change and import calendars."""

    help = "Days and windows that tasks keep free: holidays, maintenance."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("list", "list calendars by name", ("calendars list --json",), _list, _add_list),
        Verb("show", "show one calendar", ("calendars show Holidays",), _show, _add_name),
        Verb(
            "create",
            "create a calendar",
            (
                'calendars create Holidays --date "2027-01-01=New Year" --date 2027-12-25',
                "calendars create Maintenance --window 2027-02-06T22:00Z/2027-02-07T02:00Z",
            ),
            _create,
            _add_create,
        ),
        Verb(
            "edit",
            "change a calendar; the tasks that name it follow",
            ("calendars edit Holidays --date 2027-05-01 --remove-date 2027-12-25",),
            _edit,
            _add_edit,
        ),
        Verb(
            "delete",
            "delete a calendar that no task names",
            ("calendars delete Holidays --yes",),
            _delete,
            _add_name,
            dangerous=True,
        ),
        Verb(
            "import",
            "take days from an iCalendar file",
            (
                "calendars import Holidays holidays.ics --mode replace",
                "calendars import Holidays holidays.ics --dry-run",
            ),
            _import,
            _add_import,
        ),
    )
