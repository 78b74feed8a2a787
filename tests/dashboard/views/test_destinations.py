"""Destinations on the console: circuits, limits, what waits, and what can be done."""

from __future__ import annotations

import pytest

from executions.destinations import limits
from executions.models import Destination, Execution
from shared import redis_client
from tenants.models import Tenant
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.executions.leasing import accepted
from tests.factories import make_execution, make_task, once
from tests.support.closed_redis import closed_redis
from tests.support.scripts import Moved
from wire.destination_key import key_of

HOST = "api.example.com"
PATH = f"/destinations/{HOST}"


def fail(tenant: Tenant) -> None:
    """Let the last minute's calls of the tenant's host have failed: its circuit opens."""
    redis = Moved()
    redis.at = int(redis_client.client().time()[0] * 1000 - redis.now)
    redis.report(20, 15, destination=key_of(tenant.id, HOST))


def calling(tenant: Tenant, host: str) -> None:
    make_task(tenant, once(target={"url": f"https://{host}/"}))


def test_hosts_are_listed_with_circuit_and_calls(browser, alpha, beta):
    make_task(alpha)
    calling(alpha, "b.example.com:8443")
    calling(beta, "theirs.example.com")
    fail(alpha)

    answer = browser(alpha, role="viewer").get("/destinations")

    assert [one.host for one in answer.context["rows"]] == [HOST, "b.example.com:8443"]
    assert [one.host for one in answer.context["not_closed"]] == [HOST]
    assert "circuit open" in answer.text
    assert "15 of 20" in answer.text
    assert "theirs" not in answer.text


def test_without_a_task_the_page_says_what_belongs_here(browser, alpha):
    assert "No destination yet" in browser(alpha).get("/destinations").text
    assert "/tasks/new" not in browser(alpha, role="viewer").get("/destinations").text


def test_the_list_is_filtered_and_goes_on(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.destinations.PAGE_ROWS", 2)
    for name in "abc":
        calling(alpha, f"{name}.example.com")
    client = browser(alpha)

    first = client.get("/destinations").context
    assert (len(first["rows"]), first["next_after"]) == (2, "b.example.com")
    [last] = client.get("/destinations?after=b.example.com").context["rows"]
    assert last.host == "c.example.com"
    assert len(client.get("/destinations?q=a.ex").context["rows"]) == 1
    assert "No host has this" in client.get("/destinations?q=nowhere").text


def test_more_hosts_cost_no_more_queries(browser, alpha):
    calling(alpha, "a.example.com")
    client = browser(alpha)
    few = queries_for(client, "/destinations")
    for number in range(5):
        calling(alpha, f"{number}.example.com")

    assert queries_for(client, "/destinations") == few


@pytest.mark.parametrize("query", ["q=%00", f"after={'x' * 300}", "q=%E2%80%AEx"])
def test_a_filter_that_is_none_is_refused(browser, alpha, query):
    assert browser(alpha).get(f"/destinations?{query}").status_code == 400


def test_one_host_shows_its_tasks_and_what_waits(browser, alpha):
    waiting = make_execution(alpha, body=once(name=HOSTILE))
    Execution.objects.filter(pk=waiting.pk).update(parked=True, reason="circuit_open")
    fail(alpha)

    answer = browser(alpha).get(PATH)

    assert [one["id"] for one in answer.context["waiting"]] == [str(waiting.pk)]
    assert [one.pk for one in answer.context["tasks"]] == [waiting.task_id]
    assert "uses up no attempt" in answer.text
    assert "75 %" in answer.text
    assert is_escaped(answer)


@pytest.mark.parametrize(("calls", "words"), [(1, "call in the"), (2, "calls in the")])
def test_one_call_is_told_in_the_singular(browser, alpha, calls, words):
    make_task(alpha)
    redis = Moved()
    redis.at = int(redis_client.client().time()[0] * 1000 - redis.now)
    redis.report(calls, 0, destination=key_of(alpha.id, HOST))

    assert f">{calls}</b><span>{words} last minute" in browser(alpha).get(PATH).text


def test_what_is_in_flight_is_listed_without_what_goes_on_after_a_202(browser, alpha):
    running = make_execution(alpha, "RUNNING")
    accepted(alpha)

    answer = browser(alpha, role="viewer").get(PATH)

    assert [one["id"] for one in answer.context["in_flight"]] == [str(running.pk)]
    assert answer.context["destination"].in_flight == 1


def test_counts_that_stop_say_that_there_is_more(browser, alpha, monkeypatch):
    waiting = make_execution(alpha)
    Execution.objects.filter(pk=waiting.pk).update(parked=True)
    for module in ("executions.destinations.limits", "dashboard.views.destinations"):
        monkeypatch.setattr(f"{module}.MOST_PARKED", 1)
    client = browser(alpha)

    assert "≥ 1" in client.get("/destinations").text
    assert "≥ 1" in client.get(PATH).text


def test_the_number_of_tasks_opens_the_tasks_that_call_the_host(browser, alpha):
    for number in range(22):
        calling(alpha, "many.example.com" if number else "few.example.com")
    client = browser(alpha, role="viewer")

    page = client.get("/destinations/many.example.com")
    listed = client.get("/tasks?destination=many.example.com")

    assert (len(page.context["tasks"]), page.context["more_tasks"]) == (20, 1)
    assert "/tasks?destination=many.example.com&amp;status=SCHEDULED" in page.text
    assert len(listed.context["rows"]) == listed.context["pagination"]["total"] == 21
    assert "that call many.example.com" in listed.text


def test_a_redis_that_is_away_is_said(browser, alpha, monkeypatch):
    make_task(alpha)
    client = browser(alpha)
    monkeypatch.setattr("executions.dispatch.circuits.client", closed_redis)

    assert "the circuits and the requests under way are unknown" in client.get("/destinations").text
    assert "its state is unknown" in client.get(PATH).text


def test_limits_are_set_and_taken_away(browser, alpha):
    make_task(alpha)
    client = browser(alpha, role="operator")

    fields = {"max_in_flight": "5", "rate_per_second": "0.5", "breaker": "no", "version": "0"}
    assert "Saved" in said(client, f"{PATH}/limits", fields)

    row = Destination.objects.get()
    assert (row.max_in_flight, row.rate_per_second, row.breaker) == (5, 0.5, False)
    assert "never opens" in client.get(PATH).text
    said(client, f"{PATH}/limits", {"max_in_flight": "", "rate_per_second": "", "breaker": "yes"})
    row.refresh_from_db()
    assert (row.max_in_flight, row.rate_per_second, row.breaker) == (None, None, True)
    assert {actor for _, actor in audited(alpha)} == {user_of(client)}


def test_a_stale_form_changes_nothing(browser, alpha):
    make_task(alpha)
    client = browser(alpha)
    said(client, f"{PATH}/limits", {"max_in_flight": "5"})

    assert "version" in said(client, f"{PATH}/limits", {"max_in_flight": "6", "version": "0"})
    assert Destination.objects.get().max_in_flight == 5


@pytest.mark.parametrize(
    "fields",
    [{"max_in_flight": "many"}, {"max_in_flight": "1.5"}, {"max_in_flight": "0"},
     {"rate_per_second": "nan"}, {"rate_per_second": "-1"}, {"rate_per_second": "1e999"}],
    ids=str,
)  # fmt: skip
def test_limits_that_make_no_sense_are_refused(browser, alpha, fields):
    make_task(alpha)

    assert "Saved" not in said(browser(alpha), f"{PATH}/limits", fields)
    assert not Destination.objects.exists()


def test_a_circuit_is_reset(browser, alpha):
    make_task(alpha)
    fail(alpha)

    assert "Circuit reset" in said(browser(alpha), f"{PATH}/reset")
    assert limits.get_destination(alpha.id, HOST).circuit == "closed"


@pytest.mark.parametrize("verb", ["limits", "reset"])
def test_viewers_and_other_tenants_change_nothing(browser, alpha, beta, verb):
    make_task(alpha)

    viewer = browser(alpha, role="viewer")
    assert viewer.post(f"{PATH}/{verb}").status_code == 403
    assert "Save the limits" not in viewer.get(PATH).text
    stranger = browser(beta)
    assert stranger.get(PATH).status_code == 404
    assert "no such destination" in said(stranger, f"{PATH}/{verb}")
    assert not Destination.objects.exists()


@pytest.mark.parametrize("host", ["%00", "nowhere", "%3Cscript%3E", "x" * 3000])
def test_a_host_that_nobody_calls_is_404(browser, alpha, host):
    assert browser(alpha).get(f"/destinations/{host}").status_code == 404
