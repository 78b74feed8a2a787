"""A broker of tests: it takes messages as the real one does, or refuses them."""

from __future__ import annotations

from typing import Any

import orjson
import redis

from wire import messages


class Broker:
    """Takes messages as the broker does; ``broken`` refuses them."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.broken = False

    def publish(self, queue: str, message: Any) -> None:
        """Take a message, decoded as a worker reads it."""
        if self.broken:
            raise redis.ConnectionError("away")
        self.sent.append((queue, messages.decode(orjson.loads(orjson.dumps(message)))))

    @property
    def queues(self) -> list[str]:
        """The queues of all messages."""
        return [queue for queue, _ in self.sent]

    @property
    def entries(self) -> list[Any]:
        """The executions of all messages."""
        return [entry for _, message in self.sent for entry in message["executions"]]
