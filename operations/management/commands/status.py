"""``manage.py status``: one screen with the state of the installation; usable as a probe.

Exit codes: 0 healthy; 1 not; 5 the database or Redis does not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from insight.statistics.minutes import bound_text
from operations.status import Status, read_status
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import FAILED, WRONG_USE, Error, PunctualCommand, add_json_option
from shared.instants import format_instant

_CLEAR = "\x1b[H\x1b[2J"
_WATCH_SECONDS = 2.0
_SHORTEST_WATCH = 0.2


class Command(PunctualCommand):
    """Show the state of the installation."""

    help = "Show what is due, running and late, start delays, and who runs. A probe: exit code 1."

    def add_options(self, parser: CommandParser) -> None:
        """Add the forms of the output, and watching."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(("status", "status --watch 5", "status --jsonl --watch 60"))
        add_json_option(parser)
        parser.add_argument("--jsonl", action="store_true", help="print one JSON line per reading")
        parser.add_argument(
            "--watch",
            nargs="?",
            type=float,
            const=_WATCH_SECONDS,
            metavar="SECONDS",
            help=f"repeat at this interval ({_WATCH_SECONDS:g}) until Ctrl-C",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        """Print the screen; leave with 1 when it is not healthy."""
        if options["watch"] is not None:
            self._watch(options)
        found = read_status()
        self._show(found, options)
        if not found.healthy:
            self.leave(FAILED)

    def _watch(self, options: Mapping[str, Any]) -> None:
        if options["json"]:
            raise Error("--watch prints many documents; use --jsonl.", returncode=WRONG_USE)
        if options["watch"] < _SHORTEST_WATCH:
            raise Error(f"--watch: at least {_SHORTEST_WATCH:g} s.", returncode=WRONG_USE)
        redraw = self.stdout.isatty() and not options["jsonl"]
        while True:
            found = read_status()
            if redraw:
                self.stdout.write(_CLEAR, ending="")
            self._show(found, options)
            self.stdout.flush()
            _pause(options["watch"])

    def _show(self, found: Status, options: Mapping[str, Any]) -> None:
        if options["jsonl"]:
            at = format_instant(database_now())
            document = {"schema": 1, "at": at, **found.as_json()}
            self.stdout.write(orjson.dumps(document).decode())
        else:
            self.emit(options, found.as_json(), lines(found))


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def lines(found: Status) -> Iterator[str]:
    """Return the screen, at most 80 columns wide."""
    yield "healthy" if found.healthy else "NOT HEALTHY"
    for problem in found.problems:
        yield f"  ✘ {problem}"
    yield ""
    yield f"Now         due {found.due} · late {found.late} · queued {found.queued} · " + (
        f"running {found.running} · retrying {found.retrying}"
    )
    yield f"Last hour   succeeded {found.succeeded_last_hour} · failed {found.failed_last_hour}"
    delays = " · ".join(f"{name} {bound_text(v)}" for name, v in found.start_delay_ms.items())
    yield f"Start delay {delays} (of the last hour)"
    yield (
        f"Processes   schedulers {found.schedulers} · workers {found.workers} "
        f"({found.worker_slots} slots) · recorders {found.recorders}"
    )
    yield f"Partitions  {found.partitions_owned} of {found.partitions_total} owned"
    counts = " · ".join(f"{kind} {count}" for kind, count in found.refused.items())
    yield f"Refused     {counts} (since Redis started)"
    yield ""
    yield f"Tenants     dead letters {found.dead_letters_open} open"
    yield (
        f"Of due      {found.tenants['parked']} for destinations (limits, circuits) · "
        f"{found.tenants['own_workers']} for own workers"
    )
