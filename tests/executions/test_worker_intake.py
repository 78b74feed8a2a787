"""A quiet worker's consumer leaves its queues, and reads the same ones again in their order."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from executions.worker_intake import Intake

NAMES = ["default.high", "default.normal", "default.low"]


class Consumer:
    """Celery's consumer, as far as it is used; calls wait for its loop's turn."""

    def __init__(self) -> None:
        self.read = dict.fromkeys(NAMES)
        self.app = SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace()))
        self.app.amqp.queues.consume_from = self.read
        self.waiting: list[Callable[[], None]] = []

    def call_soon(self, job: Callable[[], None]) -> None:
        self.waiting.append(job)

    def turn(self) -> int:
        jobs, self.waiting = self.waiting, []
        for job in jobs:
            job()
        return len(jobs)

    def add_task_queue(self, name: str) -> None:
        self.read[name] = None

    def cancel_task_queue(self, name: str) -> None:
        self.read.pop(name, None)


@pytest.fixture
def consumer() -> Consumer:
    return Consumer()


def test_queues_are_left_and_read_again_by_the_consumers_own_loop(consumer: Consumer):
    intake = Intake(consumer)

    intake.set(False)
    assert list(consumer.read) == NAMES
    consumer.turn()
    assert list(consumer.read) == []
    intake.set(True)
    consumer.turn()

    assert list(consumer.read) == NAMES


def test_what_is_so_already_costs_nothing_and_what_was_missed_is_asked_again(consumer: Consumer):
    intake = Intake(consumer)
    intake.set(True)
    assert consumer.turn() == 0

    intake.set(False)
    consumer.waiting.clear()  # the loop was about to connect anew
    intake.set(False)

    assert consumer.turn() == 1
    assert list(consumer.read) == []
