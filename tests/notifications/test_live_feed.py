from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from events import outbox
from executions.ledger import days
from executions.loop.clocks import database_now
from notifications import live_feed
from notifications.live import TOPICS
from notifications.live_feed import LiveFeed, topics_of
from shared.ids import new_id
from tests.support.closed_redis import closed_redis
from wire import heartbeats

ALPHA, BETA = new_id(), new_id()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[UUID | None, list[str]]]:
    found: list[tuple[UUID | None, list[str]]] = []
    monkeypatch.setattr(
        live_feed, "publish_topics", lambda tenant, topics: found.append((tenant, sorted(topics)))
    )
    monkeypatch.setattr(
        live_feed, "publish_topics_to_all", lambda topics: found.append((None, sorted(topics)))
    )
    return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def feed(transactional_db: None, sent: Any, clock: Clock) -> LiveFeed:
    days.ensure_days_ahead(database_now())
    made = LiveFeed(clock)
    made.run_once()
    return made


def happen(tenant_id: UUID, *names: str) -> None:
    for name in names:
        outbox.append(tenant_id, name, new_id())


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("task.changed", {"tasks"}),
        ("pause.changed", {"tasks"}),
        ("run.changed", {"executions"}),
        ("execution.queued", {"executions"}),
        ("execution.released", {"executions"}),
        ("execution.materialized", {"executions", "tasks"}),
        ("execution.succeeded", {"executions", "tasks"}),
        ("execution.failed", {"executions", "tasks", "dead_letters"}),
        ("dead_letter.changed", {"dead_letters"}),
        ("bulk_job.changed", {"bulk_jobs"}),
        ("alert.raised", {"alerts"}),
        ("unheard.of", set()),
    ],
)
def test_each_event_has_its_topics(name: str, topics: set[str]):
    assert topics_of(name) == topics
    assert topics <= set(TOPICS)


def test_each_tenant_hears_of_its_own_events_once(feed: LiveFeed, sent: list[Any]):
    happen(ALPHA, "execution.queued", "execution.queued", "bulk_job.changed")
    happen(BETA, "task.changed", "unheard.of")

    feed.run_once()

    assert sorted(sent) == sorted([(ALPHA, ["bulk_jobs", "executions"]), (BETA, ["tasks"])])


def test_without_events_nothing_is_sent(feed: LiveFeed, sent: list[Any]):
    assert feed.run_once() == 1.0
    assert sent == []


def test_a_topic_goes_out_twice_a_second_and_none_is_forgotten(
    feed: LiveFeed, sent: list[Any], clock: Clock
):
    happen(ALPHA, "task.changed")
    feed.run_once()
    happen(ALPHA, "task.changed", "alert.raised")

    clock.now += 0.1
    wait = feed.run_once()

    assert sent == [(ALPHA, ["tasks"]), (ALPHA, ["alerts"])]
    assert wait == pytest.approx(0.4)

    clock.now += wait
    assert feed.run_once() == 1.0
    assert sent[2:] == [(ALPHA, ["tasks"])]


def test_a_full_batch_is_followed_at_once_by_the_next(
    feed: LiveFeed, sent: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live_feed, "BATCH", 2)
    happen(ALPHA, "task.changed", "task.changed", "alert.raised")

    assert feed.run_once() == 0.0
    assert feed.run_once() > 0.0
    assert sent == [(ALPHA, ["tasks"]), (ALPHA, ["alerts"])]


def test_everybody_hears_when_workers_come_and_go(
    feed: LiveFeed, sent: list[Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    worker = heartbeats.WorkerInfo("worker-1", 0.1, "default", 10, 10, {})
    monkeypatch.setattr(heartbeats, "workers", lambda: [worker])

    feed.run_once()
    assert sent == []  # looked at a moment ago
    clock.now += 2.0
    feed.run_once()
    clock.now += 2.0
    feed.run_once()

    assert sent == [(None, ["workers"])]


@pytest.mark.django_db(transaction=True)
def test_without_redis_the_events_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    days.ensure_days_ahead(database_now())
    feed = LiveFeed()
    feed.run_once()
    happen(ALPHA, "task.changed")
    monkeypatch.setattr("notifications.live.client", closed_redis)
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    assert feed.run_once() == 1.0

    assert "live_message.not_sent" in caplog.text
