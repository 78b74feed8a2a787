"""Workers and schedulers: who lives, and what the page says when nobody does."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from executions.external.pull_leases import Ask, Load, noticed
from executions.loop.clocks import database_now
from executions.models import WorkerMinute
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import run
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.executions.leasing import POOL, take, work
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis
from wire import heartbeats


@pytest.fixture(autouse=True)
def _shown(settings: Any) -> None:
    """Let the operator have shown processes to everyone."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


def test_without_any_process_the_page_says_what_waits(browser, alpha):
    text = browser(alpha).get("/workers").text

    assert "No worker lives" in text
    assert "No scheduler lives" in text
    assert "No recorder lives" in text
    assert "256 of 256</span> partitions have no owner" in text


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
    monkeypatch.setattr("insight.statistics.fleet.client", closed_redis)
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    answer = browser(alpha).get("/workers")

    assert answer.status_code == 200
    assert "Redis cannot be reached" in answer.text
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
            slots=10, running=back, ended=100 + back, ended_in_minute=back * 5, cpu_percent=12.5,
        )  # fmt: skip

    answer = browser(alpha, role="viewer").get("/workers/worker-1")

    assert answer.context["ended"] == 15
    assert [one.running for one in answer.context["rows"]] == [0, 1, 2]
    assert "Ended per minute: 15 in all, 10 at most, 0 last." in answer.text
    assert answer.text.count('class="sparkline"') == 3
    assert is_escaped(answer)


def test_a_worker_that_ended_is_known_by_its_minutes(browser, alpha):
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(worker="gone@host:1", minute=minute, pool="default")

    answer = browser(alpha).get("/workers/gone@host:1")

    assert "a week by minute, 90 days by hour" in answer.text


def test_a_worker_of_another_tenant_is_not_shown(browser, alpha, beta):
    heartbeats.beat("theirs", {"pool": "pull.x", "tenant": str(beta.pk), "name": "theirs"})
    client = browser(alpha)

    assert client.get("/workers/theirs").status_code == 404
    assert "theirs" not in client.get("/workers").text


def test_hours_are_shown_beyond_the_week_of_the_minutes(browser, alpha):
    minute = database_now() - timedelta(days=30)
    WorkerMinute.objects.create(
        worker="gone@host:1", minute=minute, pool="default", slots=8, running=3, ended_in_minute=17
    )
    run("workers/roll_up", {"now": database_now()})
    client = browser(alpha, role="viewer")

    answer = client.get("/workers/gone@host:1?span=90d")

    assert answer.context["ended"] == 17
    assert "Ended per hour" in answer.text
    assert "This span has no record" in client.get("/workers/gone@host:1").text
    assert client.get("/workers/gone@host:1?span=1y").status_code == 400
    assert "gone@host:1" in client.get("/workers/earlier").text
    assert "gone@host:1" not in client.get("/workers/earlier?q=other").text


def test_a_hostile_name_of_an_earlier_worker_is_shown_as_text(browser, alpha):
    WorkerMinute.objects.create(
        worker=HOSTILE, minute=database_now() - timedelta(days=2), pool="p", host=HOSTILE
    )
    run("workers/roll_up", {"now": database_now()})

    assert is_escaped(browser(alpha).get("/workers/earlier"))


def test_a_pull_worker_with_slashes_in_its_name_has_a_page(browser, alpha):
    work(alpha, 2)
    noticed(alpha.id, Ask(pool=POOL, worker="a/../b", load=Load("2.1")), "192.0.2.1")
    take(alpha, 2, worker="a/../b")
    client = browser(alpha, role="viewer")

    listed = client.get("/workers")
    [link] = re.findall(r'href="(/workers/[^"]+@pull[^"]+)"', listed.text)
    shown = client.get(link)

    assert (shown.status_code, shown.context["worker"].in_flight) == (200, 2)
    assert "2.1" in listed.text
    # It leases; it has no slots of ours.
    assert (listed.context["slots"], listed.context["in_flight"]) == (0, 0)


def test_lost_workers_have_neither_slots_nor_work_in_the_sum(browser, alpha):
    beat("w1", running=3)
    beat("lost", running=4)
    silence("lost", 60)

    answer = browser(alpha).get("/workers")

    assert (answer.context["in_flight"], answer.context["slots"]) == (3, 4)


@pytest.mark.parametrize("worker", ["nobody", "%00", "a/b", "x" * 500])
def test_a_worker_that_nobody_knows_is_404(browser, alpha, worker):
    assert browser(alpha).get(f"/workers/{worker}").status_code == 404
