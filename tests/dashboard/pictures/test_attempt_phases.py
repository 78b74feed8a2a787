from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.attempt_phases import AttemptFacts, Phase, origin_of, phases_of

T = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
FULL = {"dns": 3.0, "connect": 10.0, "tls": 20.0, "first_byte": 180.0, "total": 200.0}


def _at(milliseconds: float) -> datetime:
    return T + timedelta(milliseconds=milliseconds)


def _phases(attempt: AttemptFacts) -> list[tuple[str, float, float]]:
    return [(p.name, p.start, p.end) for p in phases_of(attempt, T, _at(9000))]


def test_a_complete_call_has_every_phase_one_after_another():
    attempt = AttemptFacts(1, "SUCCEEDED", T, _at(14), _at(220), FULL, 200)

    assert _phases(attempt) == [
        ("queue", 0, 14),
        ("dns", 14, 17),
        ("connect", 17, 27),
        ("tls", 27, 47),
        ("first_byte", 47, 194),
        ("body", 194, 214),
        ("rest", 214, 220),
    ]


def test_a_kept_connection_has_no_opening():
    attempt = AttemptFacts(1, "SUCCEEDED", T, T, _at(90), {"first_byte": 70.0, "total": 90.0})

    assert _phases(attempt) == [("first_byte", 0, 70), ("body", 70, 90)]


def test_timings_that_were_not_needed_may_be_null():
    timings = {"dns": None, "connect": None, "tls": None, "first_byte": 1.0, "total": 2.0}

    assert [name for name, _, _ in _phases(AttemptFacts(1, "SUCCEEDED", T, T, T, timings))] == [
        "first_byte",
        "body",
    ]


def test_a_call_without_an_answer_ends_in_none():
    attempt = AttemptFacts(1, "TIMED_OUT", T, T, _at(600), {"connect": 9.0, "total": 590.0})

    assert _phases(attempt) == [("connect", 0, 9), ("no_answer", 9, 590), ("rest", 590, 600)]


def test_the_phases_behind_the_wait_add_up_to_the_attempts_duration():
    for total, end in ((4.5, 7.2), (7.2, 7.2), (9.0, 7.2), (None, 7.2)):
        timings = {"dns": 0.5, "first_byte": 4.0, "total": total}
        attempt = AttemptFacts(1, "SUCCEEDED", T, _at(3), _at(3 + end), timings)

        spent = [phase.length for phase in phases_of(attempt, T, _at(9)) if phase.name != "queue"]

        assert sum(spent) == pytest.approx(end)


def test_a_run_that_goes_on_at_its_receiver_ends_beside_the_call():
    timings = {"first_byte": 70.0, "total": 90.0}
    accepted = AttemptFacts(1, "SUCCEEDED", T, T, _at(60_000), timings, 202)

    assert _phases(accepted)[-1] == ("rest", 90, 60_000)


def test_without_timings_only_the_call_is_known():
    lost = AttemptFacts(1, "WORKER_LOST", T, _at(5), _at(900))
    running = AttemptFacts(1, "RUNNING", T, _at(5), None)

    assert _phases(lost) == [("queue", 0, 5), ("call", 5, 900)]
    assert _phases(running)[-1] == ("call", 5, 9000)


def test_an_attempt_that_never_started_only_waited():
    assert _phases(AttemptFacts(1, "WORKER_LOST", T, None, _at(70))) == [("queue", 0, 70)]
    assert _phases(AttemptFacts(1, "WORKER_LOST", None, None, _at(70))) == []


def test_clocks_that_differ_make_nothing_negative():
    timings = {"dns": -1.0, "first_byte": -4.0, "total": -2.0}
    attempt = AttemptFacts(1, "SUCCEEDED", _at(50), _at(20), _at(10), timings)

    phases = phases_of(attempt, _at(30), _at(0))

    assert [phase.name for phase in phases] == ["dns", "first_byte", "body"]
    assert all(phase.start >= 0 and phase.length >= 0 for phase in phases)


def test_the_origin_is_the_first_moment_known():
    later = AttemptFacts(2, "SUCCEEDED", _at(50), _at(60), _at(70))
    first = AttemptFacts(1, "FAILED", None, _at(20), _at(40))

    assert origin_of([later, first], T) == _at(20)
    assert origin_of([], T) == T


def test_a_phase_knows_its_length():
    assert Phase("body", 5, 12).length == 7
