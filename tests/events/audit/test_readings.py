"""Readings of payloads: one entry a call, once an hour for an actor and a row, never an error."""

from __future__ import annotations

import json

import pytest
from django.db import DatabaseError, InterfaceError

from events.audit.readings import note_readings
from events.models import AuditEntry
from shared import redis_client
from shared.actor import Actor
from tests.factories import ACTOR, make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha():
    return make_tenant()


def entries():
    found = AuditEntry.objects.filter(action="payload.read").order_by("sequence")
    return [
        (one.object_kind, one.object_id, json.loads(one.after) if one.after else None)
        for one in found
    ]


def test_a_row_has_one_entry_however_often_it_is_read(alpha):
    for _ in range(3):
        note_readings(alpha.id, ACTOR, "task", ["a"])

    assert entries() == [("task", "a", None)]


def test_another_actor_has_an_entry_of_its_own(alpha):
    for name in ("one", "other"):
        note_readings(alpha.id, Actor(name), "task", ["a"])

    assert len(entries()) == 2


def test_a_call_that_shows_many_has_one_entry_with_those_not_noted_yet(alpha):
    note_readings(alpha.id, ACTOR, "task", ["a"])

    note_readings(alpha.id, ACTOR, "task", ["a", "b", "c", "c"])
    note_readings(alpha.id, ACTOR, "task", ["a", "b"])

    after = {"kind": "task", "count": 2, "ids": ["b", "c"]}
    assert entries()[1:] == [("tenant", str(alpha.id), after)]


def test_a_large_page_names_the_first_hundred(alpha):
    note_readings(alpha.id, ACTOR, "task", range(150))

    [(_, _, after)] = entries()
    assert (after["count"], len(after["ids"])) == (150, 100)


def test_nothing_shown_is_nothing_noted(alpha):
    note_readings(alpha.id, ACTOR, "task", [])

    assert entries() == []


def test_without_redis_every_reading_has_an_entry(alpha, monkeypatch):
    monkeypatch.setattr("shared.windowed_sets.client", _refuse)

    for _ in range(2):
        note_readings(alpha.id, ACTOR, "task", ["a"])

    assert len(entries()) == 2


def test_of_many_rows_a_bounded_number_is_remembered(alpha, monkeypatch):
    monkeypatch.setattr("events.audit.readings._REMEMBERED", 3)

    for first in (0, 2, 2):
        note_readings(alpha.id, ACTOR, "task", range(first, first + 2))

    assert [after["ids"] if after else row for _, row, after in entries()] == [
        ["0", "1"],
        ["2", "3"],
        "3",
    ]
    [key] = redis_client.client().keys("punctual:seen:*")
    assert redis_client.client().scard(key) == 3


@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
@pytest.mark.logs("reading.not_recorded")
def test_a_reading_that_cannot_be_recorded_is_no_error_and_is_tried_again(
    alpha, monkeypatch, error
):
    def fail(*arguments, **options):
        raise error("away")

    with monkeypatch.context() as broken:
        broken.setattr("events.audit.readings.record", fail)
        note_readings(alpha.id, ACTOR, "task", ["a"])
    assert entries() == []

    note_readings(alpha.id, ACTOR, "task", ["a"])

    assert len(entries()) == 1


def _refuse():
    raise ConnectionError("away")
