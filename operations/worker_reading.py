"""``manage.py workers show`` and ``earlier``: one worker with its history, and former workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from executions.housekeeping.worker_history import earlier_workers, hours_of, is_known, minutes_of
from insight.presentation.statistics import present_earlier_workers, present_worker_history
from shared.commands import PunctualCommand, shown, shown_id, table, wrong_use
from shared.exceptions import NotFound
from tasks.definition import plain_pool
from wire.heartbeats import WorkerInfo, everyone

_MINUTES_DAYS = 1
_HOURS_DAYS = 7
_MOST_DAYS = 90
_MOST_WORKERS = 1_000
_ID_WIDTH = 40
#: Rows on a terminal; ``--json`` has all.
_SHOWN = {"minute": 10, "hour": 24}
_DAY_HOURS = 24
_FACTS = (
    *(
        "id",
        "kind",
        "name",
        "tenant_id",
        "state",
        "settled",
        "pool",
        "host",
        "pid",
        "version",
        "capacity",
    ),
    *("in_flight", "hold", "held", "cpu_percent", "memory_bytes", "heartbeat_age_seconds"),
)

Documents = Callable[[Sequence[WorkerInfo]], list[dict[str, Any]]]


def add_show_options(parser: CommandParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("id", help="the worker's id, or its end as lists show it")
    parser.add_argument(
        "--by", choices=("minute", "hour"), default="minute", help="history by minute or hour"
    )
    parser.add_argument(
        "--days",
        type=int,
        help=f"days of history ({_MINUTES_DAYS} by minute, {_HOURS_DAYS} by hour)",
    )


def add_earlier_options(parser: CommandParser) -> None:
    """Add the options of ``earlier``."""
    parser.add_argument(
        "--days", type=int, default=_HOURS_DAYS, help="heard within this many days (7)"
    )
    parser.add_argument("--q", default="", metavar="TEXT", help="part of the id")
    parser.add_argument("--limit", type=int, default=100, help="at most this many (100)")


def show(command: PunctualCommand, options: Mapping[str, Any], documents: Documents) -> None:
    """Show a worker and its history; of a worker that has gone, only its history."""
    given, by = options["id"], options["by"]
    days = options["days"]
    if days is None:
        days = _HOURS_DAYS if by == "hour" else _MINUTES_DAYS
    _within("--days", days, _MOST_DAYS)
    live = live_worker(given)
    worker_id = given if live is None else live.id
    if live is None and not is_known(worker_id):
        raise NotFound(f"There is no worker {given!r}. List them: workers list, workers earlier.")
    hours = days * _DAY_HOURS
    kept: Sequence[Any] = (hours_of if by == "hour" else minutes_of)(worker_id, hours)
    history = present_worker_history(worker_id, **{f"{by}s": kept})
    rows = history[f"{by}s"]
    found = documents([live])[0] if live else _gone(worker_id, kept)
    lines = [*_facts(found), *_history_lines(by, rows[-_SHOWN[by] :])]
    document = {**found, "history": history["minutes"], "history_by_hour": history["hours"]}
    command.emit(options, document, lines)


def list_earlier(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """List the workers of the past hours, the latest heard first."""
    _within("--days", options["days"], _MOST_DAYS)
    _within("--limit", options["limit"], _MOST_WORKERS)
    found = earlier_workers(options["days"], q=options["q"], limit=options["limit"])
    document = present_earlier_workers(found)
    rows = [
        (
            shown_id(row["id"], _ID_WIDTH),
            row["pool"],
            row["first_hour"][:13].replace("T", " "),
            row["last_hour"][:13].replace("T", " "),
            "-" if row["ended"] is None else row["ended"],
        )
        for row in document["workers"]
    ]
    heading = ("id", "pool", "first hour (UTC)", "last hour (UTC)", "ended")
    command.emit(options, document, table(heading, rows))


def share(part: int | None, whole: int) -> str:
    """Return a part of a whole, a dash for an unknown part."""
    return f"{'-' if part is None else part}/{whole}"


def _within(option: str, given: int, most: int) -> None:
    if not 1 <= given <= most:
        raise wrong_use(option, f"give 1 to {most}")


def live_worker(given: str) -> WorkerInfo | None:
    """Return the worker with this id, or the only one whose id ends so."""
    known = everyone()
    exact = [worker for worker in known if worker.id == given]
    found = exact or [worker for worker in known if worker.id.endswith(given)]
    if len(found) > 1:
        names = ", ".join(shown(worker.id) for worker in found[:3])
        raise wrong_use("id", f"{len(found)} workers have ids that end so: {names}")
    return found[0] if found else None


def _gone(worker_id: str, kept: Sequence[Any]) -> dict[str, Any]:
    """Return the facts in the history of a worker that Redis no longer knows."""
    last = kept[-1] if kept else None
    return {
        **dict.fromkeys(_FACTS),
        "id": worker_id,
        "state": "gone",
        "pool": plain_pool(last.pool) if last else None,
        "host": last.host if last else None,
        "version": (last.version or None) if last else None,
        "capacity": last.slots if last else None,
    }


def _facts(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        text = "-" if value is None else str(value)
        yield f"{name.replace('_', ' '):<22} {shown(text)}"


def _history_lines(by: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = [_hour_cells(row) if by == "hour" else _minute_cells(row) for row in rows]
    heading = (f"{by} (UTC)", "in flight", "held", "ended", "cpu", "memory")
    return ["", *table(heading, lines)]


def _minute_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["minute"][11:16],
        share(row["in_flight"], row["capacity"]),
        str(row["held"]),
        _or_dash(row["ended"]),
        f"{row['cpu_percent']:.0f} %",
        _mebibytes(row["memory_bytes"]),
    )


def _hour_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the means, each with its maximum behind it."""
    return (
        row["hour"][5:13].replace("T", " "),
        f"{row['in_flight']:g} (max {row['most_in_flight']})/{row['capacity']}",
        f"{row['held']:g} (max {row['most_held']})",
        _or_dash(row["ended"]),
        f"{row['cpu_percent']:.0f} % (max {row['most_cpu_percent']:.0f})",
        _mebibytes(row["most_memory_bytes"]),
    )


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


def _mebibytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 2**20:.0f} MiB"
