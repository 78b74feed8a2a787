"""``manage.py tasks stats`` and ``tasks calendar``: what a task did, and its days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from insight.presentation.task_statistics import present_calendar, present_history
from insight.statistics.of_task import DEFAULT_WINDOW, MOST_ROWS, WINDOWS, history_of
from insight.task_calendar import calendar_of
from operations.finding import find_task
from shared.commands import PunctualCommand, table
from shared.duration_words import duration_text


def add_stats_options(parser: CommandParser) -> None:
    """Add the options of ``stats``."""
    add_calendar_options(parser)
    parser.add_argument(
        "--window", choices=list(WINDOWS), default=DEFAULT_WINDOW, help=f"({DEFAULT_WINDOW})"
    )


def add_calendar_options(parser: CommandParser) -> None:
    """Add the options of ``calendar``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def show_statistics(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print success, durations, start delays and failures by cause of a window."""
    task = find_task(options["id"], options["tenant"])
    document = {"id": str(task.pk), **present_history(history_of(task, options["window"]))}
    command.emit(options, document, _lines(command, document))
    if not document["complete"]:
        command.note(f"the newest {MOST_ROWS:,} executions, from {document['from']} on")


def show_calendar(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the days of a task on which something happens."""
    task = find_task(options["id"], options["tenant"])
    document = present_calendar(calendar_of(task))
    command.emit(options, {"id": str(task.pk), **document}, _days(command, document))


def _lines(command: PunctualCommand, document: Mapping[str, Any]) -> Iterator[str]:
    total = document["total"]
    yield f"from {document['from']} to {document['to']}"
    yield (
        f"{total['ended']:,} ended, {total['succeeded']:,} succeeded, {total['failed']:,} failed: "
        f"{_share(total['success_share'])}"
    )
    rows = [
        (
            part["at"].replace("T", " ").removesuffix("Z"),
            f"{part['ended']:,}",
            _share(part["success_share"]),
            *_percentiles(part),
        )
        for part in document["parts"]
        if part["ended"]
    ]
    heads = ("from (UTC)", "ended", "success", "delay p50", "p95", "took p50", "p95")
    yield from table(heads, [*rows, ("all", *_all(total))], command.paint)
    if document["causes"]:
        causes = [
            (f"{one['count']:,}", one["error_code"], _status(one), one["last_at"])
            for one in document["causes"]
        ]
        yield ""
        yield from table(("failures", "cause", "answer", "last (UTC)"), causes, command.paint)


def _all(total: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"{total['ended']:,}", _share(total["success_share"]), *_percentiles(total))


def _percentiles(figures: Mapping[str, Any]) -> tuple[str, ...]:
    pairs = (figures["start_delay_ms"], figures["duration_ms"])
    return tuple(duration_text(pair[name]) for pair in pairs for name in ("p50", "p95"))


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f} %"


def _status(cause: Mapping[str, Any]) -> str:
    return "–" if cause["response_status"] is None else str(cause["response_status"])


def _days(command: PunctualCommand, document: Mapping[str, Any]) -> Iterator[str]:
    states = ("succeeded", "failed", "cancelled", "skipped")
    rows = [
        (
            one["day"] + (" today" if one["day"] == document["today"] else ""),
            *(str(one[name]) for name in states),
            "?" if one["coming"] is None else str(one["coming"]),
            _marks(one),
        )
        for one in document["days"]
        if any(one[name] for name in states) or one["coming"] != 0 or _marks(one)
    ]
    yield from table((f"day ({document['timezone']})", *states, "to come", "marks"), rows)


def _marks(one: Mapping[str, Any]) -> str:
    words = {
        "at_least": "at least",
        "excluded": "calendar",
        "paused": "pause",
    }
    found = [word for name, word in words.items() if one[name]]
    return ", ".join([*found, *([one["clock_change"]] if one["clock_change"] else [])])
