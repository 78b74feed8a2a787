from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, transaction

from api import idempotency, idempotency_groups
from api.idempotency import Call
from api.idempotency_groups import apart
from shared import sql
from shared.exceptions import Conflict, QuotaExceeded
from tenants.models import IdempotencyRecord, Tenant
from tests.api import idempotent_probe
from tests.support.api import ApiClient, make_client, make_tenant
from tests.support.crowds import Crowd
from tests.support.waiting import until

pytestmark = [
    pytest.mark.urls("tests.api.idempotent_probe"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def script(monkeypatch):
    script = idempotent_probe.Script()
    monkeypatch.setattr(idempotent_probe, "script", script)
    return script


@pytest.fixture
def crowd(monkeypatch):
    return Crowd(monkeypatch)


@pytest.fixture
def client():
    return make_client(make_tenant())


def make(client: ApiClient, name: str, key: str | None = None) -> Any:
    return client.post("/v1/make-together", {"name": name}, idempotency_key=key or name)


def calls(client: ApiClient, *names: str) -> dict[str, Callable[[], Any]]:
    return {name: partial(make, client, name) for name in names}


@contextmanager
def first_held(script: Any, crowd: Crowd, client: ApiClient) -> Iterator[None]:
    """Hold a first call's group in the middle, so that who comes meanwhile gathers."""

    def wait_once(names: list[str]) -> None:
        script.before_group = then
        script.wait()

    then, script.before_group = script.before_group, wait_once
    crowd.call("first", partial(make, client, "first"))
    assert script.entered.wait(10)
    yield
    script.may_answer.set()


def statuses(crowd: Crowd) -> dict[str, int]:
    return {name: answer.status_code for name, answer in crowd.join().items()}


def made() -> list[str]:
    """Return what was made, and how often."""
    names = Tenant.objects.exclude(name="Alpha").order_by("name")
    return list(names.values_list("name", flat=True))


def test_a_caller_without_company_is_a_group_of_one(client, script):
    first, second = make(client, "a"), make(client, "a")

    assert (first.status_code, first.json()) == (201, {"name": "a"})
    assert first.headers["Location"] == second.headers["Location"] == "/v1/made/a"
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert script.groups == [["a"]]


def test_a_key_is_needed_and_has_to_be_a_good_one(client, script):
    missing = client.post("/v1/make-together", {"name": "a"})
    bad = make(client, "a", key="a b")

    assert [answer.json()["code"] for answer in (missing, bad)] == [
        "idempotency_key_missing",
        "idempotency_key_invalid",
    ]
    assert not script.groups


def test_who_comes_while_a_group_runs_is_in_the_next_one(client, script, crowd):
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b", "c"))

    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201, "c": 201}
    assert script.groups == [["first"], ["a", "b", "c"]]
    assert {name: answer.json()["name"] for name, answer in crowd.answers.items()} == {
        name: name for name in crowd.answers
    }
    assert IdempotencyRecord.objects.count() == 4
    assert make(client, "b").content == crowd.answers["b"].content


def test_the_groups_of_a_crowd_begin_apart_and_take_who_comes_meanwhile(
    client, script, crowd, monkeypatch
):
    def gather_meanwhile(moment: float) -> None:
        if moment:
            begun.append(moment - 5.0)
            crowd.gather(calls(client, "b"))

    begun = [time.monotonic()]
    monkeypatch.setattr(idempotency_groups, "apart", lambda took: 5.0)
    monkeypatch.setattr(idempotency_groups, "_wait_until", gather_meanwhile)
    with first_held(script, crowd, client):
        begun_before = time.monotonic()
        crowd.gather(calls(client, "a"))

    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201}
    assert script.groups == [["first"], ["a", "b"]]
    assert [*begun, begun_before] == sorted([*begun, begun_before])


@pytest.mark.parametrize(
    ("took", "after"), [(0.0, 0.012), (0.004, 0.012), (0.01, 0.02), (0.02, 0.03), (30.0, 0.03)]
)
def test_a_group_that_takes_long_lets_more_calls_gather_for_the_next_one(took, after):
    assert apart(took) == pytest.approx(after)


def test_another_call_under_a_known_key_is_422(client, script):
    make(client, "a", key="k")

    answer = make(client, "b", key="k")

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert script.groups == [["a"]]


def test_a_key_that_is_held_elsewhere_is_409_and_harms_nobody(client, script, crowd):
    held = Call(Tenant.objects.get(name="Alpha").pk, "a", b"", 0)
    with transaction.atomic():
        sql.rows(*idempotency.holding([held]))
        with first_held(script, crowd, client):
            crowd.gather(calls(client, "a", "b"))
        answers = crowd.join()

    assert (answers["a"].status_code, answers["b"].status_code) == (409, 201)
    assert answers["a"].json()["code"] == "idempotency_in_progress"
    assert answers["a"].headers["Retry-After"] == "1"
    assert script.groups == [["first"], ["b"]]
    assert make(client, "a").status_code == 201


def test_a_key_that_waits_or_runs_in_a_group_is_409_at_once(client, script, crowd):
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        running, waiting = make(client, "first"), make(client, "a", key="a")

    for answer in (running, waiting):
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_in_progress")
        assert answer.headers["Retry-After"] == "1"
    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201}
    assert script.groups == [["first"], ["a", "b"]]
    assert make(client, "a").headers["Idempotent-Replayed"] == "true"


def test_a_refusal_is_one_members_own_and_is_stored(client, script, crowd):
    script.outcomes = {"a": Conflict("Not this one.")}
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b"))
    assert statuses(crowd) == {"first": 201, "a": 409, "b": 201}
    script.outcomes = {}

    again = make(client, "a")

    assert again.content == crowd.answers["a"].content
    assert again.headers["Content-Type"] == "application/problem+json"
    assert again.headers["Idempotent-Replayed"] == "true"
    assert made() == ["b", "first"]


def test_a_refusal_that_may_turn_out_otherwise_is_not_stored(client, script):
    script.outcomes = {"a": QuotaExceeded()}
    first = make(client, "a")
    script.outcomes = {}

    assert (first.status_code, make(client, "a").status_code) == (429, 201)


@pytest.mark.logs("call_group.split", count=3, reason="ZeroDivisionError")
def test_the_calls_of_a_group_that_fails_go_alone(client, script, crowd):
    def fail(names: list[str]) -> None:
        if "bad" in names:
            raise ZeroDivisionError

    script.before_group = fail
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "bad", "b"))

    assert statuses(crowd) == {"first": 201, "a": 201, "bad": 500, "b": 201}
    assert script.groups[1] == ["a", "bad", "b"]
    assert sorted(script.groups[2:]) == [["a"], ["b"], ["bad"]]
    assert made() == ["a", "b", "first"]


def test_what_fails_only_with_the_commit_is_done_alone(client, script, crowd, monkeypatch):
    def out_of_range(answered: Any) -> sql.Asked:
        path, parameters = idempotency.storing(answered)
        return path, {**parameters, "statuses": "{99999,99999}"}

    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        monkeypatch.setattr(idempotency_groups, "storing", out_of_range)

    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201}
    assert made() == ["a", "b", "first"]


def test_what_was_committed_though_nobody_heard_of_it_is_not_done_again(
    client, script, crowd, monkeypatch
):
    @contextmanager
    def cut_off() -> Iterator[Any]:
        with sql.sent_with_commit() as run_last:
            yield run_last
        raise OperationalError("the connection was lost")

    class Cut:
        together = staticmethod(sql.together)
        sent_with_commit = staticmethod(cut_off)

    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        monkeypatch.setattr(idempotency_groups, "sql", Cut)

    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201}
    assert [crowd.answers[name].headers["Idempotent-Replayed"] for name in "ab"] == ["true"] * 2
    assert made() == ["a", "b", "first"]


def test_a_leader_that_dies_wakes_its_group(client, script, crowd):
    def die_once(names: list[str]) -> None:
        script.before_group = lambda names: None
        raise SystemExit

    script.before_group = die_once
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b", "c"))

    answers = crowd.join()
    assert isinstance(answers["a"], SystemExit)
    assert [answers[name].status_code for name in ("first", "b", "c")] == [201] * 3
    assert made() == ["b", "c", "first"]
    assert make(client, "a").status_code == 201


def test_a_group_holds_no_call_of_another_tenant(client, script, crowd):
    stranger = make_client(make_tenant("Beta"))
    with first_held(script, crowd, client):
        crowd.gather(calls(client, "a", "b"))

        other = make(stranger, "theirs", key="a")

        assert (other.status_code, "a" in crowd.answers) == (201, False)
    assert statuses(crowd) == {"first": 201, "a": 201, "b": 201}
    assert script.groups == [["first"], ["theirs"], ["a", "b"]]


def test_a_group_waits_for_its_turn_among_the_tenants_changes(client, script, crowd):
    queue = idempotency.queue_of(Tenant.objects.get(name="Alpha").pk)
    with ExitStack() as changes:
        for _ in range(idempotency._AT_A_TIME):
            changes.enter_context(queue)
        crowd.call("a", partial(make, client, "a"))
        # Nothing public tells who waits.
        until(lambda: queue._cond._waiters)  # type: ignore[attr-defined]  # as said
        crowd.gather(calls(client, "b", "c"))
        assert not script.groups

    assert statuses(crowd) == {"a": 201, "b": 201, "c": 201}
    assert script.groups == [["a", "b", "c"]]
