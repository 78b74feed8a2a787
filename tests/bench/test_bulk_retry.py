from __future__ import annotations

from collections import Counter
from typing import Any

from bench.bulk_retry import Retried, faults_of

CALLS = Counter({"a": 1, "b": 1})


def retried(code: int = 0, count: int = 3, **counts: int) -> Retried:
    job = {name: counts.get(name, 0) for name in ("done", "skipped", "failed")}
    document: dict[str, Any] = {"scope": {"count": count}, "bulk_job": job}
    return Retried(code, 1.0, document, [(0.5, 3)], "")


def test_a_count_that_is_done_skipped_and_failed_is_no_fault():
    assert faults_of(3, retried(done=2, skipped=1), 1, CALLS) == []


def test_a_row_that_nobody_decided_is_a_fault():
    assert faults_of(3, retried(done=2), 1, CALLS) == ["3 were shown beforehand, 2 decided"]


def test_a_retry_that_calls_twice_is_a_fault():
    faults = faults_of(3, retried(done=2, skipped=1), 1, Counter({"a": 2, "b": 1}))

    assert faults == ["1 arrived more than once"]


def test_a_failed_command_is_a_fault_with_what_it_said():
    assert faults_of(3, Retried(3, 1.0, {}, [], "no tenant"), 3, Counter()) == [
        "the command ended with 3: no tenant"
    ]
