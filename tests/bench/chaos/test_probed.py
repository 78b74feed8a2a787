from __future__ import annotations

from bench.chaos.probed import AS_EVER, WHILE_AWAY, told
from bench.chaos.prober import Probe, Probes


def test_what_was_answered_is_told_in_a_line():
    seen = Probes([Probe("GET", 200, 0.1, 0.0), Probe("POST", 503, 1.25, 0.0, True)])

    assert told(seen) == "API answered 200: 1, 503: 1; longest 1.25 s"


def test_while_the_broker_is_away_the_api_answers_as_ever():
    assert AS_EVER < WHILE_AWAY
    assert 503 not in AS_EVER
