"""The Celery functions are doors: what they hand on, and to whom."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError
from pytest_django import Settings

from executions import celery_tasks
from shared.exceptions import Unavailable


class Loop:
    """Stands for the worker's loop and notes what it is told."""

    def __init__(self, pool: str = "default") -> None:
        self.told: list[tuple[str, Any]] = [("pool", pool)]
        made.append(self)

    def start(self) -> None:
        self.told.append(("start", None))

    def accept(self, batch: dict[str, Any], size: int) -> None:
        self.told.append(("accept", size))

    def stop_taking(self) -> None:
        self.told.append(("stop_taking", None))

    def drain(self, seconds: float) -> None:
        self.told.append(("drain", seconds))


class Broken(Loop):
    """A loop that cannot start."""

    def start(self) -> None:
        raise ValueError("planted")


made: list[Loop] = []


@pytest.fixture(autouse=True)
def _no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(celery_tasks, "_loop", None)
    monkeypatch.setattr(celery_tasks, "WorkerLoop", Loop)


def test_a_worker_of_a_pool_hands_batches_to_its_loop(settings: Settings) -> None:
    settings.WORKER_POOL, settings.DRAIN_SECONDS = "batch", 3.0

    celery_tasks.start_loop()
    empty = {"incarnation": "r:1", "offset": 0.0, "secrets": {}, "definitions": []}
    celery_tasks.deliver({**empty, "bytes": 12, "executions": []})
    celery_tasks.stop_taking()
    celery_tasks.drain()

    assert made[0].told == [
        ("pool", "batch"),
        ("start", None),
        ("accept", 12),
        ("stop_taking", None),
        ("drain", 3.0),
    ]


def test_the_system_worker_has_no_loop_and_refuses_batches_aloud(settings: Settings) -> None:
    settings.WORKER_POOL = "system"

    celery_tasks.start_loop()
    celery_tasks.stop_taking()
    celery_tasks.drain()

    assert made == []
    with pytest.raises(RuntimeError, match="delivers nothing"):
        celery_tasks.deliver({"bytes": 12})


def test_a_worker_whose_loop_cannot_start_ends(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Celery swallows every Exception that a signal's receiver raises.
    settings.WORKER_POOL = "default"
    monkeypatch.setattr(celery_tasks, "WorkerLoop", Broken)

    with pytest.raises(SystemExit):
        celery_tasks.start_loop()


def test_executions_are_acknowledged_early_and_housekeeping_is_retried() -> None:
    assert celery_tasks.deliver.acks_late is False
    assert celery_tasks.deliver.ignore_result is True
    assert OperationalError.__base__ in celery_tasks.keep_house.autoretry_for
    assert celery_tasks.keep_house.retry_backoff is True
    assert celery_tasks.keep_house.retry_jitter is True


def test_keeping_house_is_the_engines_job(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr("executions.housekeeping.stage.run_once", lambda: called.append(1))

    celery_tasks.keep_house()

    assert called == [1]


def test_a_bulk_job_is_handed_on_while_more_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, left, told = uuid4(), [True, False], []

    def run_some(found: UUID) -> bool:
        told.append(("run", found))
        return left.pop(0)

    monkeypatch.setattr(celery_tasks, "run_some", run_some)
    monkeypatch.setattr(celery_tasks, "hand_on", lambda found: told.append(("hand on", found)))

    celery_tasks.run_bulk_job(str(job_id))
    celery_tasks.run_bulk_job(str(job_id))

    assert told == [("run", job_id), ("hand on", job_id), ("run", job_id)]


def test_a_bulk_job_is_retried_with_a_growing_pause_when_the_database_is_away() -> None:
    assert OperationalError.__base__ in celery_tasks.run_bulk_job.autoretry_for
    assert celery_tasks.run_bulk_job.retry_backoff is True
    assert celery_tasks.run_bulk_job.retry_jitter is True


def test_the_zone_database_is_followed_and_retried_until_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[int] = []
    monkeypatch.setattr(celery_tasks, "follow_zones", lambda: called.append(1))

    celery_tasks.check_zone_rules()

    assert called == [1]
    assert Unavailable in celery_tasks.check_zone_rules.autoretry_for
    assert celery_tasks.check_zone_rules.max_retries is None
