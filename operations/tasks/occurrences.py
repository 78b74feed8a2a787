"""``manage.py tasks occurrences``: every expected instant of a task in a range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.occurrences import place_of, read_occurrences
from insight.presentation.occurrences import present_occurrences
from operations.finding import ID_TAIL, find_task, moment_option
from shared.commands import PunctualCommand, table, with_former_names, wrong_use

_MOST = 10_000


def add_options(parser: CommandParser) -> None:
    """Add the options of ``occurrences``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as the list shows it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    with_former_names(
        parser.add_argument(
            "--since",
            "--from",
            metavar="TIME",
            help="from then on: 2h, last friday 18:00, or RFC 3339 (24h)",
        )
    )
    with_former_names(
        parser.add_argument(
            "--until",
            "--to",
            metavar="TIME",
            help="up to then: 2h, monday 9:00, or RFC 3339 (24h)",
        )
    )
    parser.add_argument(
        "--limit", type=int, default=50, help=f"at most this many (50, up to {_MOST})"
    )
    parser.add_argument("--cursor", help="continue where a page ended, in its range")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the ledger of a task, oldest first."""
    if not 1 <= options["limit"] <= _MOST:
        raise wrong_use("--limit", f"give a number from 1 to {_MOST}")
    task, now = find_task(options["id"], options["tenant"]), database_now()
    place = place_of(
        task,
        since=moment_option("--since", options["since"]),
        until=moment_option("--until", options["until"], ahead=True),
        cursor=options["cursor"],
        now=now,
    )
    page = read_occurrences(task, place, options["limit"], now=now)
    document = present_occurrences(page, options["limit"])
    command.emit(options, document, _lines(command, document["occurrences"]))
    if page.next_cursor is not None:
        command.note(f"the first {options['limit']}; continue with --cursor {page.next_cursor}")


def _lines(command: PunctualCommand, found: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            one["scheduled_for"].replace("T", " ").removesuffix("Z"),
            _due(one),
            one["status"],
            one["execution_id"][-ID_TAIL:] if one["execution_id"] else None,
            " ".join([one["reason"] or "", *one["notes"]]).strip() or None,
        )
        for one in found
    ]
    return table(("for (UTC)", "due", "status", "execution", "reason"), rows, command.paint)


def _due(one: Mapping[str, Any]) -> str | None:
    """Return the time of day at which it is due where that is not its own time."""
    due: str | None = one["due_at"]
    return None if due is None or due == one["scheduled_for"] else due[11:].removesuffix("Z")
