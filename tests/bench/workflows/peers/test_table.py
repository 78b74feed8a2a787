from __future__ import annotations

from dataclasses import replace

from bench.peers.figures import OWN, PERCENTILES
from bench.workflows.peers.figures import Counts, Summary, summary_of
from bench.workflows.peers.table import beside_lines, table

WHOLE = Counts(100, 100, 0, 0)
OWN_FIGURES = Summary(
    OWN, dict.fromkeys(PERCENTILES, 10.0), 200.0, 210.0, WHOLE, Counts(50, 50, 2, 0), 7.25
)
PEER = Summary("dbos", dict.fromkeys(PERCENTILES, 25.0), 100.0, 110.0, WHOLE, None, None)


def test_a_line_has_gaps_rates_and_what_a_kill_has_cost():
    head, own, peer = table([OWN_FIGURES, PEER])

    assert own.split() == [
        OWN,
        *["10.0"] * 4,
        *("200", "210"),
        *("0", "of", "50", "2", "0", "7.2"),
    ]
    assert peer.split() == ["dbos", *["25.0"] * 4, "100", "110", *["–"] * 4]
    assert len(head) == len(own) == len(peer)


def test_what_went_wrong_without_a_kill_is_told():
    lines = table([replace(PEER, counts=Counts(100, 99, 3, 1))])

    assert lines[-1].strip() == (
        "dbos without a kill: 99 of 100 steps executed, 3 again, 1 before their time"
    )


def test_each_peer_is_told_beside_punctual():
    assert beside_lines([OWN_FIGURES, PEER]) == [
        "punctual to dbos: p50 2.50 times lower, p95 2.50 times lower, p99 2.50 times lower,"
        " 2.00 times the steps a second"
    ]
    assert beside_lines([PEER]) == []
    assert beside_lines([OWN_FIGURES, summary_of("dbos", [], [])]) == [
        "punctual to dbos: nothing to compare"
    ]
