"""The news thread of a recorder: what follows from events: live updates, alerts, wake-ups.

Beside the recorder's own loop, on a database connection of its own, so that neither waits for
the other. A batch that was just recorded hurries it. It stops with the recorder; what it has not
read stays in the outbox for the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import connections

from executions.bulk.jobs import wake_waiting
from notifications.alerter import Alerter
from notifications.live_feed import LiveFeed
from notifications.services.deliveries import wake_due_deliveries
from shared.loop import Agenda, Stage

log = logging.getLogger("scheduler_site.news")

_STOP_SECONDS = 10.0
#: Under load a recorder commits many times a second; looking so often is enough.
_PACE_SECONDS = 0.1


def stages() -> list[Stage]:
    """Return the stages in the order of their hurry."""
    return [
        Stage("live", LiveFeed().run_once),
        Stage("alert", Alerter().run_once),
        Stage("deliveries", wake_due_deliveries),
        Stage("bulk", wake_waiting),
    ]


class News:
    """The thread; ``hurry`` may be called from any other."""

    def __init__(self, make_stages: Callable[[], list[Stage]] = stages) -> None:
        self._make_stages = make_stages
        self._hurried = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="news", daemon=True)

    def start(self) -> None:
        """Begin to look for news."""
        self._thread.start()

    def hurry(self) -> None:
        """Look at once: something has just been committed."""
        self._hurried.set()

    def stop(self) -> None:
        """End after the stage that runs, and wait for that."""
        self._stopped.set()
        self._hurried.set()
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            log.warning("news_left_running")

    def _run(self) -> None:
        try:
            agenda = Agenda(self._make_stages(), on_error=connections.close_all)
            while not self._stopped.wait(_PACE_SECONDS):
                wait = agenda.run_due()
                if self._hurried.wait(max(0.0, wait - _PACE_SECONDS)):
                    self._hurried.clear()
                    agenda.hurry("live", "alert")
        finally:
            connections.close_all()
