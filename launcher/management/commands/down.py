"""``manage.py down``: stop the Punctual that runs on this data directory, and wait for its end.

Exit codes: 0 stopped, or nothing ran; 7 it still runs after a minute.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand

from launcher import local_state
from launcher.run_lock import holder, wait_free

WAIT_SECONDS = 60.0
TIMEOUT = 7


class Command(BaseCommand):
    """Ends the supervisor, which ends everything else."""

    help = "Stop what `up` runs: drain, stop the servers, wait for the end. Example: manage.py down"
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Signal the supervisor and wait until its lock is free."""
        data_dir = local_state.data_dir()
        pid = holder(data_dir)
        if pid is None:
            self.stdout.write(local_state.not_running(data_dir))
            return
        self.stderr.write(f"stopping Punctual (pid {pid}) …")
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if not wait_free(data_dir, WAIT_SECONDS):
            self.stderr.write(f"Punctual (pid {pid}) still runs after {WAIT_SECONDS:g} s.")
            sys.exit(TIMEOUT)
        self.stdout.write("Punctual has stopped.")
