"""Workers and schedulers: who lives, and what the page says when nobody does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.engine.clocks import database_now
from executions.engine.partitions import Partitions
from executions.models import WorkerMinute
from executions.workers import registry
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


def test_one_worker_shows_its_load_by_minute(browser, alpha):
    beat("worker-1", host=HOSTILE)
    now = database_now().replace(second=0, microsecond=0)
    for back in range(3):
        WorkerMinute.objects.create(
            worker="worker-1", minute=now - timedelta(minutes=back), pool="default",
            slots=10, running=back, ended=back * 5, cpu_percent=12.5,
        )  # fmt: skip

    answer = browser(alpha, role="viewer").get("/workers/worker-1")

    assert answer.context["ended"] == 15
    assert [one.running for one in answer.context["minutes"]] == [0, 1, 2]
    assert answer.text.count('class="sparkline"') == 3
    assert is_escaped(answer)


def test_a_worker_that_ended_is_known_by_its_minutes(browser, alpha):
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(worker="gone@host:1", minute=minute, pool="default")

    answer = browser(alpha).get("/workers/gone@host:1")

    assert "its history is kept for a week" in answer.text


def test_a_worker_of_another_tenant_is_not_shown(browser, alpha, beta):
    registry.beat("theirs", {"pool": "pull.x", "tenant": str(beta.pk), "name": "theirs"})
    client = browser(alpha)

    assert client.get("/workers/theirs").status_code == 404
    assert "theirs" not in client.get("/workers").text


@pytest.mark.parametrize("worker", ["nobody", "%00", "a/b", "x" * 500])
def test_a_worker_that_nobody_knows_is_404(browser, alpha, worker):
    assert browser(alpha).get(f"/workers/{worker}").status_code == 404
