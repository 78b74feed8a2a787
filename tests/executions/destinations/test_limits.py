from __future__ import annotations

from typing import Any

import pytest

from executions.destinations import limits
from executions.models import Destination, Execution
from shared import redis_client
from shared.exceptions import InvalidInput, NotFound, Unavailable, VersionMismatch
from tests.executions.answers import audited
from tests.factories import ACTOR, make_execution, make_task, once, prepare, release
from tests.support.circuits import HOST, live
from tests.support.closed_redis import closed_redis
from tests.support.scripts import Moved
from wire import start_guard
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db


def test_hosts_are_listed_by_name_with_what_calls_them(alpha, beta):
    make_task(alpha)
    make_task(alpha)
    make_task(alpha, once(target={"url": "https://b.example.com:8443/x"}))
    make_task(beta, once(target={"url": "https://other.example.com/"}))
    Destination.objects.create(tenant=alpha, host="only-limited.example.com", max_in_flight=3)

    found = limits.list_destinations(alpha.id)

    assert [(one.host, one.tasks) for one in found] == [
        (HOST, 2),
        ("b.example.com:8443", 1),
        ("only-limited.example.com", 0),
    ]
    assert (found[0].circuit, found[0].calls, found[0].version) == ("closed", 0, 0)
    assert found[2].max_in_flight == 3


def test_the_list_goes_on_behind_a_host_and_is_filtered(alpha):
    for host in "abc":
        make_task(alpha, once(target={"url": f"https://{host}.example.com/"}))
    limits.change_limits(alpha.id, "b.example.com", {"breaker": False}, actor=ACTOR)

    def hosts(filters=None, **options):
        found = limits.list_destinations(alpha.id, filters, **options)
        return [one.host[0] for one in found]

    assert hosts(limit=2) == ["a", "b"]
    assert hosts(after="b.example.com") == ["c"]
    assert hosts({"q": "a.ex"}) == ["a"]
    assert hosts({"limited": True}) == ["b"]
    assert hosts({"limited": False}) == ["a", "c"]


def test_one_shows_its_last_minute_and_what_waits_for_it(alpha):
    waiting = make_execution(alpha)
    Execution.objects.filter(pk=waiting.pk).update(parked=True, reason="circuit_open")
    make_execution(alpha, "RUNNING")
    live().report(20, 15, destination=key_of(alpha.id, HOST))

    found = limits.get_destination(alpha.id, HOST)

    assert (found.circuit, found.calls, found.failures) == ("open", 20, 15)
    assert found.open_until is not None
    assert (found.in_flight, found.parked) == (1, 1)


def test_a_host_that_nobody_calls_is_not_found(alpha, beta):
    make_task(beta)
    for host in (HOST, "", "\x00"):
        with pytest.raises(NotFound):
            limits.get_destination(alpha.id, host)


def test_a_host_may_be_limited_before_a_task_calls_it(alpha, beta):
    found = limits.change_limits(alpha.id, HOST, {"rate_per_second": 5.0}, actor=ACTOR)

    assert (found.host, found.tasks, found.rate_per_second) == (HOST, 0, 5.0)
    assert limits.list_destinations(beta.id) == []


@pytest.mark.parametrize(
    "host",
    ["", "a b", "a/b", "me@a.example", "a..b", "a:0", "a:99999", "[::1", "x" * 261, "\x00"],
)
def test_what_no_url_can_name_as_its_host_has_no_limits(alpha, host):
    with pytest.raises(NotFound):
        limits.change_limits(alpha.id, host, {"rate_per_second": 5.0}, actor=ACTOR)

    assert not Destination.objects.exists()


def test_circuits_that_are_not_closed_are_found_of_the_tenant_only(alpha, beta):
    make_task(alpha)
    make_task(beta)
    live().report(20, 20, destination=key_of(beta.id, HOST))

    assert limits.not_closed(alpha.id) == []
    assert [one.host for one in limits.not_closed(beta.id)] == [HOST]


def test_without_redis_the_rest_is_shown(alpha, monkeypatch):
    make_task(alpha)
    nowhere = closed_redis()
    monkeypatch.setattr("executions.dispatch.circuits.client", lambda: nowhere)

    found = limits.get_destination(alpha.id, HOST)

    assert (found.circuit, found.calls, found.failures, found.tasks) == (None, None, None, 1)
    assert limits.not_closed(alpha.id) == []


def test_changed_limits_are_kept_audited_and_announced(alpha, on_commit):
    make_task(alpha)

    with on_commit(execute=True):
        found = limits.change_limits(
            alpha.id, HOST, {"max_in_flight": 1, "rate_per_second": 2.5}, actor=ACTOR
        )

    assert (found.max_in_flight, found.rate_per_second, found.breaker) == (1, 2.5, True)
    assert found.version == 1
    entry = audited(HOST, "destination.changed")
    assert entry["after"] == {"max_in_flight": 1, "rate_per_second": 2.5, "breaker": True}
    # What workers hold with the former limits is bounded by the new ones.
    verdicts: list[Any] = Moved().ask(1, 2, destination=key_of(alpha.id, HOST))
    assert verdicts[0] == start_guard.PLACED
    assert verdicts[1][0] == start_guard.NO_PLACE


def test_limits_are_lifted_by_null_and_what_is_absent_stays(alpha):
    make_task(alpha)
    both = {"max_in_flight": 5, "rate_per_second": 1.0}
    limits.change_limits(alpha.id, HOST, both, actor=ACTOR)

    found = limits.change_limits(alpha.id, HOST, {"rate_per_second": None}, actor=ACTOR)

    assert (found.max_in_flight, found.rate_per_second, found.version) == (5, None, 2)


def test_a_change_of_something_else_leaves_the_slots_of_a_rate_taken(alpha, on_commit):
    make_task(alpha)
    kept = f"punctual:rate:{key_of(alpha.id, HOST)}"
    with on_commit(execute=True):
        limits.change_limits(alpha.id, HOST, {"rate_per_second": 0.01}, actor=ACTOR)
    redis_client.client().set(kept, "1")

    with on_commit(execute=True):
        limits.change_limits(alpha.id, HOST, {"max_in_flight": 3}, actor=ACTOR)
    assert redis_client.client().exists(kept)
    with on_commit(execute=True):
        limits.change_limits(alpha.id, HOST, {"rate_per_second": 5}, actor=ACTOR)
    assert not redis_client.client().exists(kept)


def test_a_change_that_changes_nothing_leaves_no_trace(alpha):
    make_task(alpha)

    found = limits.change_limits(alpha.id, HOST, {"breaker": True}, actor=ACTOR)

    assert found.version == 0
    assert not Destination.objects.exists()


def test_a_version_that_has_passed_is_refused(alpha):
    make_task(alpha)
    limits.change_limits(alpha.id, HOST, {"max_in_flight": 5}, actor=ACTOR, expected_version=0)

    with pytest.raises(VersionMismatch):
        limits.change_limits(alpha.id, HOST, {"max_in_flight": 6}, actor=ACTOR, expected_version=0)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"max_in_flight": 0}, "#/max_in_flight"), ({"rate_per_second": 0.0}, "#/rate_per_second")],
)
def test_impossible_limits_are_refused(alpha, changes, pointer):
    make_task(alpha)

    with pytest.raises(InvalidInput) as caught:
        limits.change_limits(alpha.id, HOST, changes, actor=ACTOR)

    assert [error.pointer for error in caught.value.errors] == [pointer]


def test_a_breaker_that_is_turned_off_closes_the_circuit(alpha, on_commit):
    make_task(alpha)
    live().report(20, 20, destination=key_of(alpha.id, HOST))

    with on_commit(execute=True):
        limits.change_limits(alpha.id, HOST, {"breaker": False}, actor=ACTOR)

    assert limits.get_destination(alpha.id, HOST).circuit == "closed"


def test_a_reset_closes_the_circuit_and_is_audited(alpha):
    make_task(alpha)
    live().report(20, 20, destination=key_of(alpha.id, HOST))

    found = limits.reset_circuit(alpha.id, HOST, actor=ACTOR)

    assert (found.circuit, found.calls) == ("closed", 0)
    assert audited(HOST, "destination.reset")["before"]["circuit"] == "open"


def test_a_reset_without_redis_changes_nothing(alpha, monkeypatch):
    make_task(alpha)
    nowhere = closed_redis()
    monkeypatch.setattr("executions.dispatch.circuits.client", lambda: nowhere)

    with pytest.raises(Unavailable):
        limits.reset_circuit(alpha.id, HOST, actor=ACTOR)


SPELLINGS = ["API.Example.com", "api.example.com.", "api.example.com:443", "api.example.com.:00080"]


@pytest.mark.parametrize("written", SPELLINGS)
def test_every_spelling_of_a_host_finds_its_one_destination(alpha, written):
    make_task(alpha, once(target={"url": f"https://{written}/x"}))
    made = limits.change_limits(alpha.id, written, {"max_in_flight": 3}, actor=ACTOR)
    found = limits.get_destination(alpha.id, HOST)
    reset = limits.reset_circuit(alpha.id, written, actor=ACTOR)

    assert [one.host for one in (made, found, reset)] == [HOST] * 3
    assert (found.tasks, found.max_in_flight) == (1, 3)
    assert Destination.objects.get().host == HOST
    assert audited(HOST, "destination.reset")


def test_limits_of_a_host_hold_for_work_in_every_spelling_of_it(alpha):
    for written in SPELLINGS:
        make_task(alpha, once(target={"url": f"http://{written.replace(':443', ':80')}/x"}))
    limits.change_limits(alpha.id, HOST, {"max_in_flight": 3}, actor=ACTOR)
    prepare()

    claimed = release()

    assert {(row.destination, row.max_in_flight) for row in claimed} == {(HOST, 3)}
    assert len(claimed) == len(SPELLINGS)


@pytest.mark.parametrize("part", ["faß.de", "XN--FA", "xn--fa-hia.de", "Faß.de."])
def test_the_list_is_searched_in_every_spelling(alpha, part):
    make_task(alpha, once(target={"url": "https://faß.de/"}))
    make_task(alpha, once(target={"url": "https://fass.de/"}))

    found = limits.list_destinations(alpha.id, {"q": part})

    assert [one.host for one in found] == ["xn--fa-hia.de"]


def test_a_search_that_is_no_host_finds_nothing(alpha):
    make_task(alpha)

    assert not limits.list_destinations(alpha.id, {"q": "☃"})
