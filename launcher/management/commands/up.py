"""``manage.py up``: run the whole of Punctual in the foreground until Ctrl-C or SIGTERM.

Exit codes: 0 stopped; 1 cannot start; 4 it already runs; 5 a given database or Redis is away.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from launcher.console import Console
from launcher.plan import read_options
from launcher.up import UpFailure, run_up
from shared.log_output import real_stderr

log = logging.getLogger(__name__)

INTERRUPTED = 130


class Command(BaseCommand):
    """Door to ``launcher.up``."""

    help = (
        "Start the embedded servers, migrate, and run every process kind under a supervisor. "
        "Example: manage.py up"
    )
    # The database does not run yet; migrations are applied as part of the start.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped; what people need goes to stdout, the log to stderr."""
        console = Console(real_stderr(), json=bool(settings.LOGGING["json"]))
        try:
            run_up(read_options(), console, self._say)
        except UpFailure as failure:
            console.close()
            self._complain(str(failure))
            sys.exit(failure.code)
        except KeyboardInterrupt:
            # Before the supervisor took over the signals; nothing runs yet.
            sys.exit(INTERRUPTED)
        finally:
            console.close()

    def _complain(self, reason: str) -> None:
        if settings.LOGGING["json"]:
            log.error("installation.not_started", extra={"reason": reason})
        else:
            self.stderr.write(reason)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
