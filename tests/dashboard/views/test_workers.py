"""Workers and schedulers: who lives, and what the page says when nobody does."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

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


@pytest.fixture
def operator(browser, alpha) -> Any:
    """Return the browser of a member who operates the installation, too."""
    client = browser(alpha, role="viewer")
    User.objects.update(is_superuser=True, is_staff=True)
    return client


WISH = "/workers/wish"
ID = "worker-1@host-1:42-9f3c1a"


def test_an_operator_makes_a_worker_quiet_drains_it_and_lets_it_work(operator):
    beat(ID, quiet=False, running=3, host="host-1", pid=42)
    seen = []

    for action in ("quiet", "drain", "resume"):
        answer = operator.post(WISH, {"which": f"worker:{ID}", "action": action}, follow=True)
        seen.append((heartbeats.workers()[0].state, str(*answer.context["messages"])))

    assert seen == [
        ("quiet", "1 worker takes no new work."),
        ("draining", "1 worker takes no new work, and ends when empty."),
        ("live", "1 worker takes work again."),
    ]


def test_a_quiet_worker_shows_what_it_still_runs_and_when_it_may_be_stopped(operator):
    def shown(**says: Any) -> str:
        beat(ID, host="host-1", **says)
        return str(operator.get("/workers").text)

    text = shown(quiet=False, running=3)
    assert "Quiet: worker-1" in text
    assert "Drain: worker-1" in text
    assert "Resume: worker-1" not in text
    operator.post(WISH, {"which": "host:host-1", "action": "quiet"})

    assert "from its next heartbeats on" in shown(quiet=False, running=3)
    text = shown(quiet=True, draining=True, running=3)
    assert 'still runs <span data-number="worker.in_flight">3</span>' in text
    assert "Resume: worker-1" in text
    assert "runs nothing" in shown(quiet=True, draining=True, running=0)
    page = operator.get(f"/workers/{ID}").text
    assert "It runs nothing: stopping it now loses nothing." in page


def test_one_of_an_older_version_and_a_lost_one_have_no_buttons(operator):
    beat("old-1")
    beat("gone-1", quiet=False)
    silence("gone-1", 3600)

    text = operator.get("/workers").text

    assert 'aria-label="Quiet: ' not in text
    assert 'aria-label="Resume: ' not in text


def test_members_have_no_buttons_and_are_refused_although_they_see_processes(browser, alpha):
    beat(ID, quiet=False, host="host-1")
    client = browser(alpha)

    answer = client.post(WISH, {"which": f"worker:{ID}", "action": "drain"})

    assert (answer.status_code, heartbeats.workers()[0].state) == (403, "live")
    assert "Operators of the installation" in answer.text
    assert WISH not in client.get("/workers").text + client.get(f"/workers/{ID}").text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"which": "worker:none", "action": "quiet"}, "No such worker lives"),
        ({"which": "tenant:x", "action": "quiet"}, "Choose workers"),
        ({"which": "pool:default", "action": "stop"}, "Choose workers"),
        ({"which": "pool:", "action": "quiet"}, "Give one of these"),
        ({"action": "quiet"}, "Choose workers"),
    ],
)
def test_a_form_that_names_nothing_is_answered_with_the_reason(operator, fields, said):
    beat(ID, quiet=False)

    answer = operator.post(WISH, fields, follow=True)

    assert said in str(*answer.context["messages"])
    assert heartbeats.workers()[0].state == "live"


def test_a_second_wish_of_the_same_kind_says_that_nothing_changes(operator):
    beat("w1", quiet=False)
    beat("w2", quiet=False)
    said = []

    for which in ("worker:w1", "pool:default", "pool:default"):
        answer = operator.post(WISH, {"which": which, "action": "quiet"}, follow=True)
        said.append(str(*answer.context["messages"]))

    assert said == [
        "1 worker takes no new work.",
        "1 worker takes no new work. 1 did so before.",
        "Nothing to change: they do so already.",
    ]
