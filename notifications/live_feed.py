"""The live feed: turns events into "these topics changed" for the consoles of each tenant.

A stage of the recorder process. Counts events by tenant and name in the database, so that load
costs it little, and sends each topic at most twice a second. It sends topics after the cursor's
transaction. A crash between the two loses them; the next event of the topic repairs that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from uuid import UUID

from events.outbox import consume_tally
from notifications.live import publish_topics, publish_topics_to_all
from shared.redis_client import ConnectionFailed
from wire import heartbeats

CONSUMER = "live"
#: Events per transaction.
BATCH = 20_000
#: Shortest interval between two messages of one topic to one tenant.
SPACING_SECONDS = 0.5
_LOOK_SECONDS = 1.0
_WORKERS_SECONDS = 2.0

_TOPIC_OF = {
    "task": "tasks",
    "pause": "tasks",
    "execution": "executions",
    "run": "executions",
    "dead_letter": "dead_letters",
    "bulk_job": "bulk_jobs",
    "alert": "alerts",
}
#: Moves of an execution that do not change its task's row on the console.
_TASK_UNTOUCHED = {
    "execution.queued",
    "execution.released",
    "execution.withdrawn",
    "execution.deferred",
}


def topics_of(event_name: str) -> set[str]:
    """Return the topics that an event of this name changes."""
    kind = event_name.partition(".")[0]
    topics = {_TOPIC_OF[kind]} if kind in _TOPIC_OF else set()
    if kind == "execution" and event_name not in _TASK_UNTOUCHED:
        topics.add("tasks")
    if event_name == "execution.failed":
        topics.add("dead_letters")
    return topics


class LiveFeed:
    """Reads as the consumer ``live``; any number may run, one at a time reads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[UUID, set[str]] = {}
        self._sent_at: dict[tuple[UUID, str], float] = {}
        self._workers: tuple[tuple[str, str, bool], ...] | None = None
        self._workers_at = 0.0

    def run_once(self) -> float:
        """Read one batch, send the due topics; return the seconds until the next pass."""
        found: list[Mapping[tuple[UUID, str], int]] = []
        read = consume_tally(CONSUMER, BATCH, found.append)
        for tenant_id, name in (key for tally in found for key in tally):
            self._waiting.setdefault(tenant_id, set()).update(topics_of(name))
        wait = self._send(self._clock())
        self._look_at_workers(self._clock())
        return 0.0 if read == BATCH else wait

    def _send(self, now: float) -> float:
        """Send the topics that have not been sent just now; return when the next is due."""
        self._sent_at = {key: at for key, at in self._sent_at.items() if now - at < SPACING_SECONDS}
        for tenant_id, topics in list(self._waiting.items()):
            due = {topic for topic in topics if (tenant_id, topic) not in self._sent_at}
            if due:
                publish_topics(tenant_id, due)
                self._sent_at.update(((tenant_id, topic), now) for topic in due)
            topics -= due
            if not topics:
                del self._waiting[tenant_id]
        if not self._waiting:
            return _LOOK_SECONDS
        return max(0.05, SPACING_SECONDS - (now - min(self._sent_at.values())))

    def _look_at_workers(self, now: float) -> None:
        """Compare the live workers with the last ones, because workers write no events."""
        if now - self._workers_at < _WORKERS_SECONDS:
            return
        self._workers_at = now
        try:
            present = tuple(
                sorted((one.id, one.state, one.is_settled) for one in heartbeats.workers())
            )
        except ConnectionFailed:
            return  # without Redis no message could be sent either
        if self._workers is not None and present != self._workers:
            publish_topics_to_all(["workers"])
        self._workers = present
