from __future__ import annotations

from collections.abc import Callable

import pytest

from operations.proof.ledger import Arrival
from operations.storm.weather import faults
from tests.operations.storm.evidence import again, arrival, record
from tests.operations.storm.made_up import STRIKES, TARGETS, everything, findings
from tests.support.recounting import recounts


def in_flight(arrivals: list[Arrival]) -> Arrival:
    """Return a request that had just been answered when the strike fell."""
    return next(one for one in arrivals if faults(STRIKES)[0].doubts(one))


def test_a_storm_without_a_loss_keeps_every_promise():
    found = findings(everything())

    assert found.broken == []
    assert found.as_json()["kept"]
    assert "Every promise was kept." in list(found.lines())


def without_a_line(lines: list[Arrival]) -> list[Arrival]:
    return lines[1:]


def with_one_too_many(lines: list[Arrival]) -> list[Arrival]:
    return [*lines, again(lines[0], after_ms=500)]


def with_an_early_one(lines: list[Arrival]) -> list[Arrival]:
    return [arrival(TARGETS[0], late_ms=-50), *lines[1:]]


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (without_a_line, "1 are recorded as succeeded, but the receiver never got them"),
        (with_one_too_many, "1 ran twice without a strike to blame, or under another key"),
        (with_an_early_one, "1 began before their time"),
    ],
)
@recounts("storm.figures")
def test_a_planted_lie_is_a_broken_promise(
    lie: Callable[[list[Arrival]], list[Arrival]], said: str
):
    found = findings(lie(everything()))

    assert found.broken == [said]
    assert not found.as_json()["kept"]
    assert f"BROKEN: {said}" in list(found.lines())


def test_an_instant_that_neither_ran_nor_is_told_of_is_lost():
    found = findings(everything()[1:], [record(one) for one in TARGETS[1:]])

    assert found.broken == ["1 never ran"]
    assert found.as_json()["missed"] == 1


def test_what_was_in_flight_at_a_strike_may_run_twice():
    lines = everything()

    found = findings([*lines, again(in_flight(lines), after_ms=3000)])

    assert found.broken == []
    assert (found.as_json()["duplicate"], found.as_json()["duplicate_attributed"]) == (1, 1)
    assert found.in_flight_at_strikes >= 1


def test_a_takeover_beyond_the_promise_breaks_it():
    late = [
        arrival(one, late_ms=12_000 if one.at_ms >= STRIKES[0].at_ns // 1_000_000 else 5)
        for one in TARGETS
    ]

    [said] = findings(late).broken

    assert said.startswith("takeover after worker-1 took 1")
    assert "(at most 10 s): task task-0, due 2027-01-15T08:00:10.000Z, began " in said


def test_an_installation_that_did_not_come_back_breaks_the_promise():
    found = findings(everything(), recovered=False)

    assert found.broken == ["not everything ran again after the last strike"]


def test_the_table_tells_counts_and_takeovers_by_kind():
    text = "\n".join(findings(everything()).lines())

    assert f"expected   {len(TARGETS)}" in text
    assert "refused    2" in text
    assert "worker" in text
