"""Whether a worker process reads the queues of its pool, by means of its Celery consumer.

A quiet worker must not take messages that other workers of its pool could start at once.
"""

from __future__ import annotations

from typing import Any


class Intake:
    """The queues that ``consumer``, Celery's own, read when the worker became ready."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._names = tuple(consumer.app.amqp.queues.consume_from)

    def set(self, reads: bool) -> None:
        """Read the queues, or leave them to others; may be called again, and by any thread.

        Celery does it in its own loop, and after a lost connection reads the same queues again.
        """
        if reads is not bool(self._consumer.app.amqp.queues.consume_from):
            self._consumer.call_soon(self._read if reads else self._leave)

    def _read(self) -> None:
        for name in self._names:
            self._consumer.add_task_queue(name)

    def _leave(self) -> None:
        for name in self._names:
            self._consumer.cancel_task_queue(name)
