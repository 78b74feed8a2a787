"""``manage.py run_worker``: a Celery worker of a pool; ``--pool system`` does the system's jobs."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery.platforms import SecurityWarning
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from launcher.command_account import require_account
from launcher.kept_rights import keep_nothing
from launcher.privileges import PrivilegeError
from launcher.slots import conf_of_pool
from scheduler_site.celery import app
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom
from shared.interpreter import take_short_turns
from tasks.definition import WEBHOOK_POOL
from wire.priorities import BAND_NAMES

#: Threads that hand batches to the loop; handing over takes well under a millisecond.
_HANDOVER_THREADS = 2
#: Threads of the system worker: a long bulk job must not keep alerts and housekeeping waiting.
_SYSTEM_THREADS = 4
_MOST_SLOTS = 20000


class Command(BaseCommand):
    """Run a worker until stopped.

    On the first signal it hands back unstarted work and finishes the rest; on the second it ends.
    """

    help = "Deliver the executions of a pool, or do the system's own jobs."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the pool's name, and how much the worker runs at a time."""
        parser.add_argument("--pool", default=settings.WORKER_POOL)
        parser.add_argument(
            "--slots",
            type=_slots,
            help="runs at a time; by default WORKER_CAPACITY for the pool `default`, "
            "COMMAND_SLOTS for `commands`, HANDLER_SLOTS for others",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Start Celery on the pool's queues, the urgent one first."""
        pool = options["pool"]
        settings.WORKER_POOL = pool
        settings.PUNCTUAL = conf_of_pool(settings.PUNCTUAL, pool, options["slots"])
        system = pool == "system"
        if not system and pool != WEBHOOK_POOL:
            _require_account()
        else:
            # It runs no programs, as other accounts or as its own.
            keep_nothing()
        queues = ["system"] if system else [f"{pool}.{band}" for band in BAND_NAMES]
        threads = _SYSTEM_THREADS if system else _HANDOVER_THREADS
        name = os.environ.get("PROCESS_NAME", f"{pool}-worker")
        # Celery warns of root because pickle would run anything; only JSON is accepted here.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        # Our lease covers the work that a pool's worker takes, so the broker need not keep a second
        # copy until it is acknowledged. The system's own jobs come back by that copy.
        app.conf.broker_transport_options["ack_emulation"] = system
        ClockWatch(name).start()
        collect_seldom()
        take_short_turns()
        app.worker_main(
            [
                "--quiet",
                "worker",
                "--pool=threads",
                f"--concurrency={threads}",
                f"--queues={','.join(queues)}",
                f"--hostname={name}-{os.getpid()}@%h",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "--loglevel=WARNING",
            ]
        )


def _require_account() -> None:
    try:
        require_account(settings.DATA_DIR)
    except PrivilegeError as error:
        raise CommandError(str(error)) from error


def _slots(word: str) -> int:
    """Return the number; argparse words the error."""
    slots = int(word)
    if not 1 <= slots <= _MOST_SLOTS:
        raise ValueError(word)
    return slots
