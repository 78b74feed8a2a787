"""``manage.py workers``: the workers by their heartbeats, and one of them in full.

Exit codes: 0 a worker takes work; 1 none does; 5 Redis does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from executions.engine.worker_history import minutes_of
from executions.presentation_stats import present_worker_history
from executions.workers.registry import WorkerInfo, everyone
from shared.command_parser import Verb
from shared.commands import FAILED, VerbCommand, shown, table
from shared.exceptions import NotFound
from tasks.definition import plain_pool

_SHOWN_HOURS = 24
#: On a terminal; `--json` has all that the API answers by default.
_SHOWN_MINUTES = 10
_GREY, _PLAIN = "\x1b[2m", "\x1b[0m"


def _list(command: Any, options: Mapping[str, Any]) -> None:
    wanted = options["pool"]
    found = sorted(
        (worker for worker in everyone() if wanted in (None, plain_pool(worker.pool))),
        key=lambda worker: (worker.pool, worker.id),
    )
    documents = [document(worker) for worker in found]
    command.emit(options, {"workers": documents}, list_lines(documents, command.paint))
    if not any(worker.takes_work and worker.tenant is None for worker in found):
        command.note("No live worker takes work. Start `manage.py run_worker` or `manage.py up`.")
        command.leave(FAILED)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    for worker in everyone():
        if worker.id == options["id"]:
            minutes = minutes_of(worker.id, _SHOWN_HOURS)
            history = present_worker_history(worker.id, minutes)["minutes"]
            found = document(worker)
            lines = [*_show_lines(found), *_history_lines(history[-_SHOWN_MINUTES:])]
            command.emit(options, {**found, "history": history}, lines)
            return
    raise NotFound(f"There is no worker {options['id']!r}.")


def _add_pool(parser: CommandParser) -> None:
    parser.add_argument("--pool", help="only workers of this pool")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", help="the worker's name as the list shows it")


class Command(VerbCommand):
    """List the workers and show one."""

    help = "The workers, by their heartbeats."
    verbs = (
        Verb(
            "list",
            "list the workers, lost ones of the last day too",
            ("workers list --pool default",),
            _list,
            _add_pool,
        ),
        Verb(
            "show",
            "show one worker and its last minutes",
            ("workers show worker-1@host:4242-9f3c1a",),
            _show,
            _add_id,
        ),
    )


def document(worker: WorkerInfo) -> dict[str, Any]:
    """Return what a worker says of itself; what it does not say is null."""
    details = worker.details
    return {
        "id": worker.id,
        "state": _state(worker),
        "pool": plain_pool(worker.pool),
        "host": details.get("host"),
        "pid": details.get("pid"),
        "version": details.get("version"),
        "capacity": worker.slots,
        "in_flight": details.get("running"),
        "hold": worker.hold,
        "held": details.get("held"),
        "heartbeat_age_seconds": round(worker.silent_seconds, 3),
    }


def _state(worker: WorkerInfo) -> str:
    if not worker.live:
        return "lost"
    return "live" if worker.takes_work else "draining"


def list_lines(found: Sequence[Mapping[str, Any]], paint: Callable[[str], str]) -> list[str]:
    """Return the workers as a table; on a terminal that wants colours lost ones are grey."""
    # The colour of what is over for good; the word itself stays.
    coloured = paint("SKIPPED") != "SKIPPED"
    rows = [
        (
            shown(worker["id"], 30),
            worker["pool"],
            worker["state"],
            _share(worker["in_flight"], worker["capacity"]),
            _share(worker["held"], worker["hold"]),
            f"{worker['heartbeat_age_seconds']:.1f} s",
        )
        for worker in found
    ]
    heading, *lines = table(("id", "pool", "state", "in flight", "held", "heartbeat"), rows)
    marked = [
        f"{_GREY}{line}{_PLAIN}" if coloured and worker["state"] == "lost" else line
        for worker, line in zip(found, lines, strict=True)
    ]
    return [heading, *marked]


def _share(part: int | None, whole: int) -> str:
    return f"{'-' if part is None else part}/{whole}"


def _show_lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        text = "-" if value is None else str(value)
        yield f"{name.replace('_', ' '):<22} {shown(text)}"


def _history_lines(minutes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not minutes:
        return []
    rows = [
        (
            row["minute"][11:16],
            _share(row["in_flight"], row["capacity"]),
            str(row["held"]),
            str(row["ended"]),
            f"{row['cpu_percent']:.0f} %",
            "-" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 2**20:.0f} MiB",
        )
        for row in minutes
    ]
    return ["", *table(("minute", "in flight", "held", "ended", "cpu", "memory"), rows)]
