"""The stage of the checks: any number of processes call it, and one at a time judges.

It runs in the recorders, so that it needs no scheduler. A process that dies within a pass has
changed nothing; what is so at the next pass decides.
"""

from __future__ import annotations

from django.db import transaction

from events.outbox import lock_cursor
from executions.loop.clocks import database_now
from executions.ownership import fence
from notifications.alerter import CONSUMER
from notifications.choices import AlertKind
from notifications.time_checks.conditions import settle
from notifications.time_checks.installation import Troubles, broken_parts
from notifications.time_checks.judging import KINDS, NO_WORKER, broken_rules
from shared.redis_client import ConnectionFailed
from shared.sql import run
from wire import heartbeats

#: Seconds between two passes of a process, and to the next try where another process judges.
EVERY_SECONDS, _AGAIN_SECONDS = 10.0, 1.0
#: A statement that takes longer is cancelled, and the pass tried again: live updates of the process
#: and other alerts wait for it.
_MOST_MILLISECONDS = 2000


class TimeChecks:
    """Judges by time; leaves an installation that has just begun one interval to catch up."""

    def __init__(self) -> None:
        self._has_begun = False
        self._troubles = Troubles()

    def run_once(self) -> float:
        """Judge once, unless another process does; return the seconds to the next pass."""
        if not self._has_begun:
            self._has_begun = True
            return EVERY_SECONDS
        return EVERY_SECONDS if check(self._troubles) else _AGAIN_SECONDS


def check(troubles: Troubles) -> bool:
    """Judge everything once; return False where another process opens or ends alerts."""
    try:
        workers = heartbeats.everyone()
    except ConnectionFailed:
        workers = None
    wrong = troubles.now(workers)
    with transaction.atomic(durable=True):
        run("dispatch/limit_time", {"milliseconds": _MOST_MILLISECONDS})
        if not lock_cursor(CONSUMER):
            return False
        # Without Redis nothing tells whether a pool has lost its workers, or has them again.
        kinds = [kind for kind in KINDS if workers is not None or kind != NO_WORKER]
        now = database_now()
        # Behind the fence of a restore nothing runs until the operator confirms.
        broken = [] if fence.holds() else broken_rules(now, workers)
        settle([*kinds, AlertKind.INSTALLATION_UNHEALTHY], [*broken, *broken_parts(wrong)], now)
    return True
