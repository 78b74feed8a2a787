"""``manage.py schedule month``: past and coming runs of a month by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.filter_language.fields import TASKS
from insight.month.days import month_of, narrowing, present_month, present_runs
from insight.month.local_days import chosen_month, days_from, read_month
from insight.month.runs import runs_of_days
from insight.statistics.usage import read_day
from operations.finding import filter_option, zone_option
from operations.tenancy import chosen_tenant
from shared.commands import PunctualCommand, shown, table, wrong_use

#: Lines of the coming runs of a day.
MOST_RUNS = 500
_WIDTH = 60


def add_month_options(parser: CommandParser) -> None:
    """Add the options of ``month``."""
    parser.add_argument(
        "month", nargs="?", metavar="YYYY-MM", help="a year before or after this one at most (this)"
    )
    parser.add_argument(
        "--timezone", default="UTC", metavar="ZONE", help="whose clock decides the days (UTC)"
    )
    parser.add_argument(
        "--filter",
        metavar="TEXT",
        help="only tasks that match a text of the filter language: 'label:team:billing'",
    )
    parser.add_argument("--day", metavar="YYYY-MM-DD", help="also list the coming runs of this day")
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")


def show_month(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the days, and the coming runs of one of them."""
    tenant, now = chosen_tenant(options["tenant"]), database_now()
    zone = zone_option(options["timezone"])
    wanted = filter_option(options["filter"], TASKS)
    month = _read("YYYY-MM", options["month"], read_month)
    day = _read("--day", options["day"], read_day)
    first = chosen_month(month, day, zone, now, ("?month", "?day"))
    document = present_month(month_of(tenant.id, first, zone, now, wanted))
    document["runs"] = None
    if day is not None:
        narrow = narrowing(tenant.id, wanted, now)
        found = runs_of_days(tenant.id, days_from(day, 1, zone), now, narrow, MOST_RUNS)
        document["runs"] = present_runs(day, found)
    command.emit(options, document, _lines(document))
    if not document["complete"]:
        command.note("Tasks or schedules are too many to count all: coming runs are at least.")
    if document["tasks_paused"]:
        command.note(f"{document['tasks_paused']} paused tasks are not counted.")
    if document["runs"] is not None and not document["runs"]["complete"]:
        command.note("The list of the day is cut; --filter shows the others.")


def _read(name: str, text: str | None, read: Any) -> date | None:
    try:
        found: date | None = None if text is None else read(text)
    except ValueError as error:
        raise wrong_use(name, str(error)) from error
    return found


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            one["day"],
            _count(one["succeeded"], at_least=one["ended_at_least"]),
            _count(one["failed"]),
            _count(one["coming"], at_least=not document["complete"]),
            shown("; ".join(_marks(one)), _WIDTH),
        )
        for one in document["days"]
    ]
    yield from table(("day", "succeeded", "failed", "coming", "marks"), rows)
    if document["runs"] is not None:
        listed = [
            (run["at"], shown(run["task_name"], _WIDTH) + (" and more" if run["more"] else ""))
            for run in document["runs"]["runs"]
        ]
        yield from ("", *table(("at", f"task on {document['runs']['day']}"), listed))


def _count(count: int | None, *, at_least: bool = False) -> str:
    if count is None:
        return "-"
    return f"{count}+" if at_least else str(count)


def _marks(one: Mapping[str, Any]) -> Iterator[str]:
    if one["clock_change"]:
        yield one["clock_change"]
    yield from (f"calendar {text}" for text in one["calendars"])
    yield from (f"paused: {text}" for text in one["pauses"])
