from __future__ import annotations

from bench.rolling_restart import broken
from operations.proof.campaign import Outcome
from operations.proof.matcher import Verdict
from operations.proof.workload import Window


def outcome(verdict: Verdict) -> Outcome:
    return Outcome(Window(0, 1000, "http://127.0.0.1:2", "w"), verdict, 1, 0, True, 1.0)


def test_a_run_without_a_loss_a_double_or_a_late_start_keeps_its_promises():
    assert broken(outcome(Verdict(start_delays_ms=[5.0, 1999.0]))) == []


def test_a_double_is_one_too_many_even_with_an_excuse():
    verdict = Verdict()
    verdict.note("dup_attributed", "an example")

    assert broken(outcome(verdict)) == ["1 doubled"]


def test_late_starts_break_the_promise():
    verdict = Verdict(start_delays_ms=[2500.0])

    assert broken(outcome(verdict)) == ["start delay p99 2500 ms, not under 2000 ms"]
