"""The news thread of a recorder, which does live updates, alerts and wake-ups from events.

It runs beside the recorder's own loop, on a database connection of its own, so that neither waits
for the other. A newly recorded batch wakes it. It stops with the recorder; events that it has not
read stay in the outbox for the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import connections

from executions.bulk.jobs import wake_waiting
from notifications.alerter import Alerter
from notifications.event_webhooks.waking import wake_due_subscriptions
from notifications.live_feed import LiveFeed
from notifications.services.deliveries import wake_due_deliveries
from notifications.time_checks.burning import BudgetChecks
from notifications.time_checks.stage import TimeChecks
from shared.loop import Agenda, Stage

log = logging.getLogger("scheduler_site.news")

_STOP_SECONDS = 10.0
#: Under load a recorder commits many times a second; reading at this interval is enough.
_PACE_SECONDS = 0.1
#: How long events of alerts are gathered: a page changes at once, a message need not.
_GATHER_SECONDS = 0.5


def stages() -> list[Stage]:
    """Return the stages, the most urgent one first."""
    return [
        Stage("live", LiveFeed().run_once),
        Stage("alert", Alerter().run_once),
        Stage("deliveries", wake_due_deliveries),
        Stage("event_webhooks", wake_due_subscriptions),
        Stage("bulk", wake_waiting),
        Stage("time", TimeChecks().run_once),
        Stage("budgets", BudgetChecks().run_once),
    ]


class News:
    """The thread; ``hurry`` may be called from any other."""

    def __init__(self, make_stages: Callable[[], list[Stage]] = stages) -> None:
        self._make_stages = make_stages
        self._hurried = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def hurry(self) -> None:
        """Read at once, because the recorder has just committed a batch."""
        self._hurried.set()

    def stop(self) -> None:
        """Ask the thread to end after the running stage, and wait for its end."""
        self._stopped.set()
        self._hurried.set()
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            log.warning("news.left_running")

    def _run(self) -> None:
        try:
            agenda = Agenda(self._make_stages(), on_error=connections.close_all)
            while not self._stopped.wait(_PACE_SECONDS):
                wait = agenda.run_due()
                if self._hurried.wait(max(0.0, wait - _PACE_SECONDS)):
                    self._hurried.clear()
                    agenda.hurry("live")
                    agenda.hurry("alert", within=_GATHER_SECONDS)
        finally:
            connections.close_all()
