"""A scheduler's dispatch of limited destinations, in a time that tests set."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson

from executions.dispatch.room import LOOK_SECONDS
from executions.dispatch.stage import Dispatcher
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.services import active_signing_secrets
from wire import messages


class Scheduler:
    """A dispatcher, and what it has sent."""

    def __init__(self) -> None:
        partitions = Partitions()
        partitions.run_once()
        self.sent: list[Any] = []
        self.dispatcher = Dispatcher(partitions, self._publish, active_signing_secrets)

    def _publish(self, queue: str, message: Any) -> None:
        self.sent += messages.decode(orjson.loads(orjson.dumps(message)))["executions"]

    def prepare(self) -> None:
        self.dispatcher.partitions.run_once()
        while not materialize.run_once(self.dispatcher.partitions).next_in:
            pass

    def run(self) -> float:
        """Dispatch until nothing more is to be done at once; return when it wants to look."""
        self.dispatcher.partitions.run_once()
        for _ in range(20):
            next_in = self.dispatcher.run_once().next_in
            if next_in:
                return next_in
        raise AssertionError("it never rests")

    def hosts(self) -> Counter[str]:
        return Counter(entry["destination"] for entry in self.sent)


class Time:
    """A monotonic clock on which so much passes between two questions."""

    def __init__(self) -> None:
        self.now, self.step = 1000.0, LOOK_SECONDS

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


def finish_all() -> None:
    """Let everything that workers have come to its end, past the recorder."""
    Execution.objects.filter(status__in=["QUEUED", "RUNNING"]).update(
        status="SUCCEEDED", finished_at=database_now(), lease_expires_at=None
    )
