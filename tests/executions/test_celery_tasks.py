"""The Celery functions are doors: what they hand on, and to whom."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from django.db import DatabaseError, OperationalError
from pytest_django import Settings

from events.audit.heads import Written
from events.audit.retention import Forgotten
from executions import celery_tasks
from executions.erasure import steps as erasure_steps
from executions.housekeeping import stage as housekeeping
from executions.resealing import passes as resealing
from shared.exceptions import Unavailable
from tenants.quotas import counters


class Noting(logging.Handler):
    """Notes the text of each record."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def capture_logs() -> Iterator[list[str]]:
    """Yield the texts that the module logs within the block."""
    said: list[str] = []
    handler = Noting(said)
    celery_tasks.log.addHandler(handler)
    try:
        yield said
    finally:
        celery_tasks.log.removeHandler(handler)


class Loop:
    """Stands for the worker's loop and notes what it is told."""

    def __init__(self, pool: str = "default") -> None:
        self.told: list[tuple[str, Any]] = [("pool", pool)]
        made.append(self)

    def start(self) -> None:
        self.told.append(("start", None))

    def accept(self, batch: dict[str, Any], size: int) -> None:
        self.told.append(("accept", size))

    def read_queues_by(self, intake: Any) -> None:
        self.told.append(("read_queues_by", intake.__name__))

    def stop_taking(self) -> None:
        self.told.append(("stop_taking", None))

    def drain(self, seconds: float) -> None:
        self.told.append(("drain", seconds))


class Broken(Loop):
    """A loop that cannot start."""

    def start(self) -> None:
        raise ValueError("planted")


made: list[Loop] = []


def _consumer() -> Any:
    """Return what Celery's consumer shows of its queues."""
    queues = SimpleNamespace(consume_from={"batch.high": None})
    return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)))


@pytest.fixture(autouse=True)
def _no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(celery_tasks, "_loop", None)
    monkeypatch.setattr(celery_tasks, "WorkerLoop", Loop)


def test_a_worker_of_a_pool_hands_batches_to_its_loop(settings: Settings) -> None:
    settings.WORKER_POOL, settings.DRAIN_SECONDS = "batch", 3.0

    celery_tasks.start_loop()
    empty = {"incarnation": "r:1", "offset": 0.0, "secrets": {}, "definitions": []}
    celery_tasks.read_queues(_consumer())
    celery_tasks.deliver({**empty, "bytes": 12, "executions": []})
    celery_tasks.stop_taking()
    celery_tasks.drain()

    assert made[0].told == [
        ("pool", "batch"),
        ("start", None),
        ("read_queues_by", "set"),
        ("accept", 12),
        ("stop_taking", None),
        ("drain", 3.0),
    ]


def test_the_system_worker_has_no_loop_and_refuses_batches_aloud(settings: Settings) -> None:
    settings.WORKER_POOL = "system"

    celery_tasks.start_loop()
    celery_tasks.read_queues(_consumer())
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


@pytest.mark.parametrize(
    ("job", "errors", "most"),
    [
        ("run_bulk_job", {redis.RedisError}, 5),
        ("run_erasure", {redis.RedisError, Unavailable}, 5),
        ("reseal", {redis.RedisError}, 5),
        ("recount_quotas", {redis.RedisError}, 1),
        ("make_days", set(), 5),
        ("follow_calendar", {redis.RedisError, Unavailable}, None),
        ("check_zone_rules", {redis.RedisError, Unavailable}, None),
    ],
)
def test_jobs_of_the_system_worker_are_tried_again_after_an_outage(
    job: str, errors: set[type[Exception]], most: int | None
) -> None:
    found = getattr(celery_tasks, job)

    assert set(found.autoretry_for) == {DatabaseError, *errors}
    assert found.max_retries == most
    assert (found.retry_backoff, found.retry_jitter, found.ignore_result) == (True, True, True)


def keep_pass(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Keep the place of the pass in a dictionary instead of in Redis."""
    kept: dict[str, str] = {}

    def begin() -> bool:
        return "at" not in kept and kept.setdefault("at", "") == ""

    def move(after: str | None) -> None:
        kept.clear()
        kept.update({"at": after} if after else {})

    monkeypatch.setattr(counters, "begin_pass", begin)
    monkeypatch.setattr(counters, "move_pass", move)
    monkeypatch.setattr(counters, "continues_pass", lambda after: kept.get("at", after) == after)
    return kept


def test_a_count_for_quotas_does_not_begin_beside_another(monkeypatch: pytest.MonkeyPatch) -> None:
    last, other = uuid4(), uuid4()
    kept, told = keep_pass(monkeypatch), []

    def recount_some(after: UUID | None) -> tuple[int, UUID | None]:
        told.append(after)
        return 1, (last if after is None else None)

    monkeypatch.setattr(celery_tasks, "recount_some", recount_some)
    monkeypatch.setattr(celery_tasks, "publish_system_job", lambda *_: None)

    celery_tasks.recount_quotas()
    celery_tasks.recount_quotas()
    celery_tasks.recount_quotas(str(other))
    celery_tasks.recount_quotas(str(last))

    assert told == [None, last]
    assert not kept


def test_a_count_for_quotas_that_breaks_can_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = keep_pass(monkeypatch)

    def broken(_: UUID | None) -> tuple[int, UUID | None]:
        raise ValueError("planted")

    monkeypatch.setattr(celery_tasks, "recount_some", broken)

    with pytest.raises(ValueError, match="planted"):
        celery_tasks.recount_quotas()

    assert not kept


def test_counting_for_quotas_is_handed_on_while_tenants_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = uuid4()
    left, told = [(1, last), (1, None)], []
    keep_pass(monkeypatch)

    def recount_some(after: UUID | None) -> tuple[int, UUID | None]:
        told.append(after)
        return left.pop(0)

    monkeypatch.setattr(celery_tasks, "recount_some", recount_some)
    monkeypatch.setattr(celery_tasks, "publish_system_job", lambda *asked: told.append(asked))

    celery_tasks.recount_quotas()
    celery_tasks.recount_quotas(str(last))

    assert told == [None, ("executions.recount_quotas", str(last)), last]


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


@pytest.mark.django_db
def test_heads_are_written_and_old_entries_removed_behind_them(tmp_path, settings, monkeypatch):
    order: list[str] = []
    folder = str(tmp_path / "heads")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_heads_dir=folder)
    chain = uuid4()

    def write(now: datetime) -> Written:
        order.append("heads")
        return Written(1, 1, 0, tmp_path, [chain])

    def forget(now: datetime) -> list[Forgotten]:
        order.append("old")
        return [Forgotten(chain, breaks_at=7)]

    monkeypatch.setattr(celery_tasks, "write_heads", write)
    monkeypatch.setattr(celery_tasks, "forget_old_entries", forget)
    with capture_logs() as said:
        celery_tasks.write_audit_heads()

    assert order == ["heads", "old"]
    assert said == ["audit_chain.went_back", "audit_chain.not_verified"]


def test_a_database_whose_clock_was_set_forward_makes_no_entry_old(monkeypatch):
    asked: list[datetime] = []
    future = datetime(2999, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(celery_tasks, "database_now", lambda: future)
    monkeypatch.setattr(celery_tasks, "write_heads", lambda now: Written(0, 0, 0, Path(), []))

    def forget(now: datetime) -> list[Forgotten]:
        asked.append(now)
        return []

    monkeypatch.setattr(celery_tasks, "forget_old_entries", forget)

    celery_tasks.write_audit_heads()

    [now] = asked
    assert now < future


@pytest.mark.django_db
@pytest.mark.parametrize("problem", ["no key", "no folder"])
def test_heads_that_cannot_be_written_keep_old_entries(problem, tmp_path, settings, monkeypatch):
    (tmp_path / "file").write_text("")
    parts: dict[str, Any] = {"audit_heads_dir": str(tmp_path / "file" / "heads")}
    if problem == "no key":
        parts = {"audit_keys": {}}
    settings.PUNCTUAL = replace(settings.PUNCTUAL, **parts)
    monkeypatch.setattr(celery_tasks, "forget_old_entries", lambda now: pytest.fail("removed"))

    with capture_logs() as said:
        celery_tasks.write_audit_heads()

    assert said == ["audit_heads.not_written"]


@pytest.mark.parametrize(("more", "running", "calls"), [(True, True, 1), (False, False, 0)])
def test_an_erasure_is_handed_on_while_more_is_left(
    monkeypatch: pytest.MonkeyPatch, *, more: bool, running: bool, calls: int
) -> None:
    handed: list[UUID] = []
    monkeypatch.setattr(erasure_steps, "run_some", lambda erasure_id: more)
    monkeypatch.setattr(erasure_steps, "is_running", lambda erasure_id: running)
    monkeypatch.setattr(erasure_steps, "hand_on", handed.append)
    erasure_id = uuid4()

    celery_tasks.run_erasure(str(erasure_id))

    assert handed == [erasure_id] * calls


def test_an_erasure_that_waits_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure_steps, "run_some", lambda erasure_id: False)
    monkeypatch.setattr(erasure_steps, "is_running", lambda erasure_id: True)

    with pytest.raises(Unavailable):
        celery_tasks.run_erasure(str(uuid4()))


def test_keeping_house_is_the_engines_job_and_wakes_erasures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(housekeeping, "run_once", lambda: done.append("house"))
    monkeypatch.setattr(erasure_steps, "wake_waiting", lambda: done.append("erasures"))
    monkeypatch.setattr(resealing, "wake_waiting", lambda: done.append("resealings"))

    celery_tasks.keep_house()

    assert done == ["house", "erasures", "resealings"]
