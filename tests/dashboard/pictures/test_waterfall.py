from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.attempt_phases import PHASES, AttemptFacts
from dashboard.pictures.waterfall import waterfall
from executions.choices import AttemptOutcome
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

T = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
FULL = {"dns": 3.0, "connect": 10.0, "tls": 20.0, "first_byte": 180.0, "total": 200.0}


def _at(milliseconds: float) -> datetime:
    return T + timedelta(milliseconds=milliseconds)


def _retried() -> list[AttemptFacts]:
    return [
        AttemptFacts(1, "FAILED", T, _at(14), _at(214), FULL, 503),
        AttemptFacts(2, "SUCCEEDED", _at(240_000), _at(240_008), _at(240_208), FULL, 200),
    ]


@pytest.mark.parametrize("outcome", list(AttemptOutcome))
@pytest.mark.parametrize("length", [0.0, 0.001, 864_000_000.0])
def test_attempts_of_any_outcome_and_length_keep_the_rules(outcome: str, length: float):
    timings = {"first_byte": length / 2, "total": length}
    attempt = AttemptFacts(1, outcome, T, T, _at(length), timings)

    assert_keeps_the_rules(waterfall([attempt], now=T))
    assert_keeps_the_rules(waterfall([attempt, AttemptFacts(2, outcome)], now=_at(length)))


def test_no_attempt_yet_is_said():
    markup = waterfall([], now=T)

    assert_keeps_the_rules(markup)
    assert texts(markup, "picture-summary") == ["There was no attempt yet."]


def test_a_wait_for_a_retry_is_cut_and_said_in_words():
    markup = waterfall(_retried(), now=T)

    assert texts(markup, "cut-label") == ["⋯ 4 m"]
    assert len(having(markup, "cut")) == 1


def test_each_attempt_says_number_outcome_and_length():
    labels = texts(waterfall(_retried(), now=T), "attempt-label")

    assert labels == ["Attempt 1failed 503200 ms", "Attempt 2succeeded 200200 ms"]


def test_an_attempt_without_an_answer_says_its_error():
    refused = AttemptFacts(1, "FAILED", T, T, T, {"total": 1.0}, None, "connection_<refused>")
    late = AttemptFacts(1, "TIMED_OUT", T, T, T, {"total": 1.0}, None, "timeout_first_byte")

    assert texts(waterfall([refused], now=T), "attempt-outcome") == ["failed connection_<refused>"]
    assert texts(waterfall([late], now=T), "attempt-outcome") == ["timed out"]
    assert rows(waterfall([late], now=T))[0][2] == "timeout_first_byte"


def test_phases_are_to_one_scale():
    markup = waterfall([AttemptFacts(1, "SUCCEEDED", T, T, _at(200), FULL, 200)], now=T)

    widths = {
        one.get("class", "").split("phase-")[-1]: one.get("width")
        for one in having(markup, "phase")
    }
    assert widths == {
        "dns": "1.5%",
        "connect": "5%",
        "tls": "10%",
        "first-byte": "73.5%",
        "body": "10%",
    }


def test_a_phase_of_no_length_is_still_seen_and_inside():
    markup = waterfall(
        [AttemptFacts(1, "SUCCEEDED", T, T, _at(100), {"total": 100.0, "first_byte": 100.0})], now=T
    )

    body = having(markup, "phase-body")[0]
    assert (body.get("x"), body.get("width")) == ("99.7%", "0.3%")


def test_the_table_has_every_phase():
    first, second = rows(waterfall(_retried(), now=T))

    assert first == [
        *("1", "failed", "503", "0 ms"),
        *("14 ms", "3 ms", "10 ms", "20 ms", "147 ms", "20 ms", "–", "–", "–"),
    ]
    assert second[3] == "4 m"
    assert len(first) == 4 + len(PHASES)


def test_the_ruler_names_a_round_length():
    markup = waterfall([AttemptFacts(1, "SUCCEEDED", T, T, _at(200), FULL, 200)], now=T)

    (ruler,) = having(markup, "ruler")
    assert (ruler[0].get("x2"), ruler[3].text) == ("25%", "50 ms")


def test_the_summary_spans_all_attempts():
    assert texts(waterfall(_retried(), now=T), "picture-summary") == [
        "2 attempts in 4 m from the first start; the last succeeded."
    ]


def test_the_legend_names_only_what_is_drawn():
    (legend,) = texts(waterfall(_retried()[:1], now=T), "legend")

    assert legend == "queue waitDNSconnectTLSfirst bytebody"
