"""``manage.py workers``: the workers by their heartbeats, and what they shall do.

Exit codes: 0 a worker takes work, or the change is made; 1 none does; 5 Redis does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from executions.housekeeping.worker_history import in_hand, leased_by_worker
from operations import worker_changes, worker_reading
from shared.command_parser import Verb
from shared.commands import FAILED, VerbCommand, shown, shown_id, table
from tasks.definition import plain_pool
from wire.heartbeats import WorkerInfo, everyone

_ID_WIDTH = 32
_GREY, _PLAIN = "\x1b[2m", "\x1b[0m"


def _list(command: Any, options: Mapping[str, Any]) -> None:
    wanted = options["pool"]
    found = sorted(
        (worker for worker in everyone() if wanted in (None, plain_pool(worker.pool))),
        key=lambda worker: (worker.pool, worker.id),
    )
    documents = documents_of(found)
    lines = list_lines(documents, command.paint, wide=options["wide"])
    command.emit(options, {"workers": documents}, lines)
    if not any(worker.takes_work and worker.tenant is None for worker in found):
        command.note("No live worker takes work. Start `manage.py run_worker` or `manage.py up`.")
        command.leave(FAILED)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    worker_reading.show(command, options, documents_of)


def _add_list(parser: CommandParser) -> None:
    parser.add_argument("--pool", help="only workers of this pool")
    parser.add_argument("--wide", action="store_true", help="full ids and names")


class Command(VerbCommand):
    """List the workers, show one, make them quiet, drain them."""

    help = "The workers by their heartbeats; make them quiet, drain them."
    verbs = (
        Verb(
            "list",
            "list the workers, lost ones of the last day too",
            ("workers list --pool default",),
            _list,
            _add_list,
        ),
        Verb(
            "show",
            "show one worker and its last minutes or hours",
            (
                "workers show worker-1@host:4242-9f3c1a",
                "workers show 9f3c1a --by hour --days 30",
            ),
            _show,
            worker_reading.add_show_options,
        ),
        Verb(
            "earlier",
            "list the workers that were heard in the last days, ended ones too",
            ("workers earlier --days 30 --q worker-1",),
            worker_reading.list_earlier,
            worker_reading.add_earlier_options,
        ),
        Verb(
            "quiet",
            "make workers take no new work and finish what they run",
            ("workers quiet 9f3c1a", "workers quiet --host web-1"),
            worker_changes.make_quiet,
            worker_changes.add_options,
        ),
        Verb(
            "drain",
            "make workers take no new work, and end when they are empty",
            ("workers drain 9f3c1a --yes", "workers drain --pool default --yes"),
            worker_changes.drain,
            worker_changes.add_options,
            dangerous=True,
        ),
        Verb(
            "resume",
            "let workers take work again that are quiet or drain",
            ("workers resume 9f3c1a", "workers resume --pool default"),
            worker_changes.resume,
            worker_changes.add_options,
        ),
    )


def documents_of(workers: Sequence[WorkerInfo]) -> list[dict[str, Any]]:
    """Return the reports of the workers; a value that a worker does not report is null.

    The ledger has the executions in flight of a pull worker: those that it has leased.
    """
    leased = leased_by_worker(None) if any(one.tenant is not None for one in workers) else {}
    return [_document(worker, leased) for worker in workers]


def _document(worker: WorkerInfo, leased: Mapping[tuple[str, str, str], int]) -> dict[str, Any]:
    details = worker.details
    pulls = worker.tenant is not None
    return {
        "id": worker.id,
        "kind": "pull_worker" if pulls else "worker",
        "name": details.get("name"),
        "tenant_id": worker.tenant,
        "state": worker.state,
        "settled": worker.is_settled,
        "pool": plain_pool(worker.pool),
        "host": details.get("host"),
        "pid": details.get("pid"),
        "version": details.get("version") or None,
        "capacity": worker.slots,
        "in_flight": in_hand(worker, leased) if pulls else details.get("running"),
        "hold": worker.hold,
        "held": details.get("held"),
        "cpu_percent": details.get("cpu_percent"),
        "memory_bytes": details.get("memory_bytes"),
        "heartbeat_age_seconds": round(worker.silent_seconds, 3),
    }


def list_lines(
    found: Sequence[Mapping[str, Any]], paint: Callable[[str], str], *, wide: bool = False
) -> list[str]:
    """Return the workers as a table; on a terminal that wants colours lost ones are grey."""
    # Grey is the colour of final states; without colours, the word alone shows it.
    coloured = paint("SKIPPED") != "SKIPPED"
    rows = [
        (
            shown(worker["id"]) if wide else shown_id(worker["id"], _ID_WIDTH),
            worker["pool"],
            worker["state"],
            worker_reading.share(worker["in_flight"], worker["capacity"]),
            "-" if worker["held"] is None else worker_reading.share(worker["held"], worker["hold"]),
            f"{worker['heartbeat_age_seconds']:.1f} s",
            *((shown(worker["version"] or "-"), shown(worker["name"] or "-")) if wide else ()),
        )
        for worker in found
    ]
    wider = ("version", "name") if wide else ()
    columns = ("id", "pool", "state", "in flight", "held", "heartbeat", *wider)
    heading, *lines = table(columns, rows)
    marked = [
        f"{_GREY}{line}{_PLAIN}" if coloured and worker["state"] == "lost" else line
        for worker, line in zip(found, lines, strict=True)
    ]
    return [heading, *marked]
