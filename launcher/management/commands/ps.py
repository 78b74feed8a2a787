"""``manage.py ps``: the processes that run, from the runtime file that the supervisor keeps.

Exit codes: 0 it runs; 1 it does not. ``--json`` lists processes that live now; a process that the
supervisor is about to start again is missing for that moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from launcher import local_state
from launcher.run_lock import holder
from shared.commands import FAILED, PunctualCommand, add_json_option


class Command(PunctualCommand):
    """Shows the processes that the supervisor started."""

    help = (
        "List the running processes with pid, age, restarts, CPU and memory. "
        "Example: manage.py ps --json"
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add ``--json``."""
        add_json_option(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        """Print the table or the document; exit with 1 when nothing runs."""
        data_dir = local_state.data_dir()
        runs = holder(data_dir) is not None
        listed = local_state.load_runtime(data_dir).get("processes", []) if runs else []
        living = [process for process in listed if process["pid"] is not None]
        lines = process_table(listed, time.time()) if runs else []
        self.emit(options, {"processes": living}, lines)
        if not runs:
            self.note(local_state.not_running(data_dir))
            self.leave(FAILED)


def process_table(processes: list[dict[str, Any]], now: float) -> list[str]:
    """Return the processes as lines of at most 80 columns."""
    lines = [f"{'NAME':<18}{'PID':>8}{'RESTARTS':>10}{'AGE':>8}{'CPU %':>8}{'MEMORY':>10}"]
    for process in processes:
        pid = process["pid"]
        if pid is None:
            lines.append(f"{process['name']:<18}{'-':>8}{process['restarts']:>10}  starting again")
            continue
        age = max(now - process["started_at"], 0.001)
        share, mebibytes = _usage(pid, age)
        lines.append(
            f"{process['name']:<18}{pid:>8}{process['restarts']:>10}{_spoken(age):>8}"
            f"{share:>8}{mebibytes:>10}"
        )
    return lines


def _usage(pid: int, age: float) -> tuple[str, str]:
    # CPU is the mean over the life of the process; one pass cannot show the present.
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return "-", "-"
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    resident = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return f"{100 * seconds / age:.1f}", f"{resident:.0f} MiB"


def _spoken(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
