from __future__ import annotations

import copy

import pytest

from shared.exceptions import InvalidInput
from tasks.field_reader import Errors
from tasks.repeats import Repeats
from tasks.validation.bodies import parse_one_of_many
from tests.factories import daily, once
from tests.tasks.bodies import AUTHS, LIMITS, LONG, MINIMAL, NOW, SHORT, TARGETS, create, problems
from tests.tasks.bodies import with_target as with_target_of

URL = {"kind": "webhook", "url": "https://api.example.com/a"}
BODIES = [
    *(LONG, SHORT, MINIMAL, daily(), once()),
    *(with_target_of(target) for target in TARGETS.values()),
    *(with_target_of({**URL, "auth": auth}) for auth in AUTHS.values()),
    with_target_of({**URL, "url": "https://other.example/b", "headers": {"X-Order": "1"}}),
    with_target_of({**URL, "template": True, "headers": {"X-Task": "{{ task.name }}"}}),
    once(schedule={"run_at": "2026-12-24T09:00:00.25+01:00"}),
    once(schedule={"run_at": "2026-12-24T09:00:00Z", "timezone": "Europe/Berlin"}),
    daily(retry_policy={"max_attempts": 3}, labels={"team": "a"}),
    daily(retry_policy={"max_attempts": 3}, labels={"team": "b"}),
]
WRONG = [
    daily(labels=None),
    daily(labels={"team": 5}),
    daily(retry_policy={"max_attempts": 0}),
    daily(retry_policy=[]),
    once(schedule={"run_at": "yesterday"}),
    once(schedule={"run_at": "2020-01-01T00:00:00Z"}),
    once(schedule={"run_at": "2026-12-24T09:00:00Z", "every": "PT5M"}),
    with_target_of({**URL, "url": "ftp://x"}),
    with_target_of({**URL, "headers": {"X-A": "1", "x-a": "2"}}),
    with_target_of({"kind": "webhook"}),
    with_target_of({**URL, "auth": AUTHS["basic"], "headers": {"Authorization": "x"}}),
]


def test_bodies_read_together_are_what_each_is_by_itself():
    repeats = Repeats()

    for body in BODIES + BODIES[::-1]:
        found = parse_one_of_many(copy.deepcopy(body), repeats, now=NOW, limits=LIMITS)

        assert found == create(body)
        assert [*found.target] == [*create(body).target]
        assert [*found.schedule] == [*create(body).schedule]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_body_among_good_ones_has_its_own_errors_every_time(wrong):
    repeats = Repeats()

    def read(body):
        return parse_one_of_many(body, repeats, now=NOW, limits=LIMITS)

    for body in BODIES:
        read(body)

    for _ in range(2):
        assert problems(read, wrong) == problems(create, wrong)


def test_a_body_that_is_no_object_is_refused():
    with pytest.raises(InvalidInput):
        parse_one_of_many("text", Repeats(), now=NOW, limits=LIMITS)


def test_what_was_written_the_same_is_read_once():
    repeats, reads = Repeats(), []

    def whole():
        reads.append(1)
        return {"a": len(reads)}

    first = repeats.read("part", {"a": 1}, Errors(), whole)

    assert repeats.read("part", {"a": 1}, Errors(), whole) is first
    assert repeats.read("part", {"a": 1}, Errors(), whole, lambda: {"b": 2}) == {"a": 1, "b": 2}
    assert repeats.read("part", {"a": 1.0}, Errors(), whole) == {"a": 2}
    assert repeats.read("other", {"a": 1}, Errors(), whole) == {"a": 3}


def test_what_is_wrong_is_read_anew():
    repeats, errors = Repeats(), Errors()

    def whole():
        errors.add("#/a", "invalid", "No.")
        return {}

    for number in range(60):
        repeats.read("part", {}, errors, whole)

        assert errors.count == min(50, number + 1)
    assert repeats.read("part", {}, Errors(), lambda: {"a": 1}) == {"a": 1}
