from __future__ import annotations

from bench.peers.plan import Plan
from bench.peers.workers.procrastinate_peer import batches


def test_calls_of_one_instant_are_deferred_in_batches():
    found = list(batches(Plan("", 2500, 1000)))

    assert [(due_ms, len(numbers)) for due_ms, numbers in found] == [
        (1000, 1000),
        (1000, 1000),
        (1000, 500),
    ]
    assert [number for _, numbers in found for number in numbers] == list(range(2500))


def test_calls_of_different_instants_are_deferred_one_instant_at_a_time():
    assert list(batches(Plan("", 4, 1000, step_ms=0.5))) == [(1000, [0, 1]), (1001, [2, 3])]
