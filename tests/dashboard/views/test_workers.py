"""Workers and schedulers: who lives, and what the page says when nobody does."""

from __future__ import annotations

from executions.engine.partitions import Partitions
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.executions.workers.test_registry import beat
from tests.support.closed_redis import closed_redis


def test_without_any_process_the_page_says_what_waits(browser, alpha):
    text = browser(alpha).get("/workers").text

    assert "No worker lives" in text
    assert "No scheduler lives" in text
    assert "No recorder lives" in text
    assert "256 of 256 partitions have no owner" in text


def test_living_processes_are_shown_with_what_they_take(browser, alpha):
    Partitions().run_once()
    beat("worker-1")

    answer = browser(alpha, role="viewer").get("/workers")

    assert len(answer.context["workers"]) == 1
    assert len(answer.context["schedulers"]) == 1
    assert answer.context["unowned"] == 0
    assert "have no owner" not in answer.text


def test_a_redis_that_is_away_is_said_and_the_rest_shown(browser, alpha, monkeypatch):
    Partitions().run_once()
    monkeypatch.setattr("executions.stats.fleet.client", closed_redis)
    monkeypatch.setattr("executions.workers.registry.client", closed_redis)

    answer = browser(alpha).get("/workers")

    assert answer.status_code == 200
    assert "Redis cannot be asked" in answer.text
    assert len(answer.context["schedulers"]) == 1


def test_a_hostile_name_is_shown_as_text(browser, alpha):
    beat(HOSTILE, host=HOSTILE, version=HOSTILE)

    assert is_escaped(browser(alpha).get("/workers"))
