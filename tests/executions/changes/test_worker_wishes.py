"""Operators' wishes: whom they reach, what is refused, and that every change is audited."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from events import audit
from events.models import AuditEntry
from executions.changes.worker_wishes import Action, Choice, Wished, wish
from shared.exceptions import Conflict, InvalidInput, NotFound, Unavailable
from tests.factories import ACTOR
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis
from wire import heartbeats, worker_wishes
from wire.heartbeats import workers
from wire.worker_wishes import Word

pytestmark = pytest.mark.django_db

ONE = Choice(worker="w1")


def lives(name: str, **says: Any) -> None:
    beat(name, **{"quiet": False, "host": "alpha", **says})


def states() -> dict[str, str]:
    return {one.id: one.state for one in workers()}


def entries() -> list[tuple[str, str, str | None, str | None]]:
    found = AuditEntry.objects.filter(tenant_id=audit.INSTALLATION).order_by("sequence")
    return list(found.values_list("action", "object_id", "before", "after"))


def test_one_worker_becomes_quiet_drains_and_works_again():
    lives("w1")
    lives("w2")

    seen = []
    for action in (Action.QUIET, Action.DRAIN, Action.RESUME):
        assert wish(action, ONE, actor=ACTOR) == Wished(["w1"], [])
        seen.append(states())

    assert [one["w1"] for one in seen] == ["quiet", "draining", "live"]
    assert {one["w2"] for one in seen} == {"live"}
    assert entries() == [
        ("worker.quieted", "w1", '{"wish":"work"}', '{"wish":"quiet"}'),
        ("worker.drained", "w1", '{"wish":"quiet"}', '{"wish":"drain"}'),
        ("worker.resumed", "w1", '{"wish":"drain"}', '{"wish":"work"}'),
    ]


@pytest.mark.parametrize(
    ("choice", "meant"),
    [(Choice(pool="slow"), ["w2", "w3"]), (Choice(host="beta"), ["w3", "w4"])],
)
def test_a_pool_or_host_means_its_workers_that_live_and_do_not_stop(choice: Choice, meant: Any):
    lives("w1")
    lives("w2", pool="slow")
    lives("w3", pool="slow", host="beta")
    lives("w4", host="beta")
    lives("lost", pool="slow", host="beta")
    silence("lost", 3600)
    lives("stops", pool="slow", host="beta", draining=True)

    assert wish(Action.QUIET, choice, actor=ACTOR) == Wished(meant, [])

    assert sorted(one for one, state in states().items() if state == "quiet") == meant
    assert wish(Action.QUIET, choice, actor=ACTOR) == Wished([], meant)
    assert len(entries()) == len(meant)


def test_a_pull_worker_is_a_program_of_its_tenant():
    heartbeats.beat("theirs", {"pool": "pull.x", "tenant": "t", "patience": 600.0})

    with pytest.raises(Conflict, match="pause its pool"):
        wish(Action.QUIET, Choice(worker="theirs"), actor=ACTOR)
    with pytest.raises(NotFound):
        wish(Action.QUIET, Choice(pool="pull.x"), actor=ACTOR)


@pytest.mark.parametrize(
    ("says", "word", "said"),
    [
        ({"draining": True}, None, "stops already"),
        ({}, Word.END, "stops already"),
    ],
)
def test_a_worker_that_stops_is_refused(says: dict[str, Any], word: Word | None, said: str):
    lives("w1", **says)
    if word is not None:
        worker_wishes.change(word, {"w1": 0})

    for action in Action:
        with pytest.raises(Conflict, match=said):
            wish(action, ONE, actor=ACTOR)
    assert entries() == []


def test_one_of_a_version_that_cannot_become_quiet_refuses_for_all():
    lives("w1")
    beat("w2", host="alpha")

    with pytest.raises(Conflict, match="SIGTERM"):
        wish(Action.DRAIN, Choice(host="alpha"), actor=ACTOR)

    assert states() == {"w1": "live", "w2": "live"}
    assert entries() == []


def test_a_worker_that_another_operator_has_changed_just_now_is_refused_and_not_audited(
    monkeypatch: pytest.MonkeyPatch,
):
    lives("w1")
    first = heartbeats.everyone()
    wish(Action.QUIET, ONE, actor=ACTOR)

    with monkeypatch.context() as patched:
        patched.setattr(heartbeats, "everyone", lambda: first)
        with pytest.raises(Conflict, match="just now"), transaction.atomic():
            wish(Action.DRAIN, ONE, actor=ACTOR)

    assert workers()[0].wish.word == Word.QUIET
    assert [action for action, *_ in entries()] == ["worker.quieted"]


def test_nothing_changes_without_redis(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    with pytest.raises(Unavailable, match="nothing has changed"):
        wish(Action.QUIET, ONE, actor=ACTOR)


@pytest.mark.parametrize("given", [{}, {"worker": "w1", "pool": "default"}, {"host": ""}])
def test_exactly_one_way_to_name_workers_is_given(given: dict[str, str]):
    with pytest.raises(InvalidInput, match="Give one of these"):
        Choice(**given)


@pytest.mark.parametrize("choice", [ONE, Choice(pool="none"), Choice(host="none")])
def test_workers_that_do_not_live_are_unknown(choice: Choice):
    with pytest.raises(NotFound, match="No such worker lives"):
        wish(Action.QUIET, choice, actor=ACTOR)


def test_too_many_at_once_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("executions.changes.worker_wishes.MOST_WORKERS", 1)
    lives("w1")
    lives("w2")

    with pytest.raises(InvalidInput, match="one call takes 1"):
        wish(Action.QUIET, Choice(pool="default"), actor=ACTOR)
