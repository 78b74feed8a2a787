"""Pools on the console: how they stand, how a worker joins, and what can be done with one."""

from __future__ import annotations

import pytest

from executions.models import Pool
from tests.dashboard.asking import HOSTILE, audited, is_escaped, said, user_of
from tests.executions.leasing import take, work
from tests.support.closed_redis import closed_redis
from wire import heartbeats


def test_pools_are_shown_with_what_waits(browser, alpha, beta):
    work(alpha, 2, pool="mail")
    work(beta, 1, pool="theirs")
    take(alpha, 1, pool="mail")

    answer = browser(alpha, role="viewer").get("/pools")

    [shown] = answer.context["pools"]
    assert (shown.name, shown.depth, shown.in_flight) == ("mail", 1, 1)
    assert "theirs" not in answer.text
    assert "Create the pool" not in answer.text


def test_a_page_without_pools_says_what_they_are_for(browser, alpha):
    assert "No pool yet" in browser(alpha).get("/pools").text


def test_a_pool_shows_its_workers_tasks_and_how_to_join(browser, alpha):
    [task] = work(alpha, 1, pool="mail")
    heartbeats.beat("w", {"pool": "pull.mail", "tenant": str(alpha.pk), "name": HOSTILE})

    answer = browser(alpha).get("/pools/mail")

    assert answer.status_code == 200
    assert is_escaped(answer)
    assert f'href="/tasks/{task.pk}"' in answer.text
    assert "/v1/pools/mail/lease" in answer.text
    assert answer.context["task_count"] == 1


def test_a_redis_that_is_away_is_said(browser, alpha, monkeypatch):
    work(alpha, 1, pool="mail")
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)
    client = browser(alpha)

    assert "the live workers are unknown" in client.get("/pools").text
    assert "its workers are unknown" in client.get("/pools/mail").text


def test_a_pool_is_made_once(browser, alpha):
    client = browser(alpha, role="operator")

    fields = {"name": "batch-etl", "max_in_flight": "5"}
    assert "Created" in said(client, "/pools/new/create", fields)
    assert "already" in said(client, "/pools/new/create", fields)

    pool = Pool.objects.get(tenant=alpha)
    assert (pool.name, pool.max_in_flight) == ("batch-etl", 5)
    assert audited(alpha) == [("pool.changed", user_of(client))]


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"name": "Über"}, {"name": "a\0"}, {"name": "x" * 51},
     {"name": "a", "max_in_flight": "0"}, {"name": "a", "max_in_flight": "many"},
     {"name": "a", "max_in_flight": "1.5"}, {"name": "a", "max_in_flight": "1e99"}],
    ids=str,
)  # fmt: skip
def test_nonsense_makes_no_pool(browser, alpha, fields):
    assert said(browser(alpha), "/pools/new/create", fields)
    assert not Pool.objects.exists()


def test_a_pool_is_paused_and_resumed(browser, alpha):
    work(alpha, 1, pool="mail")
    client = browser(alpha)

    assert "Paused" in said(client, "/pools/mail/pause")
    assert not take(alpha, pool="mail")
    assert "Resume" in client.get("/pools/mail").text
    assert said(client, "/pools/mail/resume") == "Resumed."
    assert take(alpha, pool="mail")


def test_a_limit_is_set_and_taken_away(browser, alpha):
    work(alpha, 1, pool="mail")
    client = browser(alpha)

    said(client, "/pools/mail/limit", {"max_in_flight": "3"})
    assert Pool.objects.get().max_in_flight == 3
    stale = {"max_in_flight": "4", "version": "1"}
    assert "version" in said(client, "/pools/mail/limit", stale)
    said(client, "/pools/mail/limit", {"max_in_flight": ""})
    assert Pool.objects.get().max_in_flight is None


def test_only_a_pool_that_no_task_names_is_deleted(browser, alpha):
    [task] = work(alpha, 1, pool="mail")
    client = browser(alpha)

    assert "names the pool" in said(client, "/pools/mail/delete")
    task.delete()
    assert said(client, "/pools/mail/delete", back="/pools") == "Deleted."
    assert not Pool.objects.exists()


@pytest.mark.parametrize("verb", ["pause", "resume", "limit", "delete"])
def test_another_tenants_pools_are_not_to_be_had(browser, alpha, beta, verb):
    work(beta, 1, pool="mail")
    client = browser(alpha)

    assert client.get("/pools/mail").status_code == 404
    assert "no pool" in said(client, f"/pools/mail/{verb}")
    assert not Pool.objects.filter(tenant=alpha).exists()


def test_viewers_change_nothing(browser, alpha):
    work(alpha, 1, pool="mail")
    client = browser(alpha, role="viewer")

    assert "Save the limit" not in client.get("/pools/mail").text
    for path in ("/pools/new/create", "/pools/mail/pause", "/pools/mail/delete"):
        assert client.post(path).status_code == 403


@pytest.mark.parametrize("name", ["%00", "nowhere", "%F0%9F%98%80", "x" * 300])
def test_a_pool_that_is_none_is_404(browser, alpha, name):
    assert browser(alpha).get(f"/pools/{name}").status_code == 404
