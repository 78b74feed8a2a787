from __future__ import annotations

from typing import Any

from bench.backfill import expected_instants, faults_of
from operations.proof.ledger import Arrival

INSTANTS = expected_instants(10_000, 3)


def arrival(at_ms: int) -> Arrival:
    return Arrival("t", at_ms, 0, "w", 1, 1, "/ok", 200, 0, None, "")


def measured(**changes: Any) -> dict[str, Any]:
    job = {"status": "COMPLETED", "done": 3, "executions": {"succeeded": 3}}
    return {"job": job, "fixed": 0.1, "created": 0.001, "ended": 1.0, **changes}


def test_the_instants_end_with_the_last_one():
    assert INSTANTS == [8000, 9000, 10_000]


def test_each_instant_called_once_is_no_fault():
    assert faults_of(INSTANTS, measured(), [arrival(at) for at in INSTANTS]) == []


def test_what_is_missed_doubled_or_strange_is_a_fault():
    faults = faults_of(INSTANTS, measured(), [arrival(at) for at in (8000, 8000, 9000, 7000)])

    assert faults == [
        "1 instants were missed",
        "1 instants were not asked for",
        "1 instants were called more than once",
    ]


def test_fewer_than_a_thousand_a_second_miss_the_target():
    faults = faults_of(INSTANTS, measured(created=1.0), [arrival(at) for at in INSTANTS])

    assert faults == ["target missed: 3 made a second, not 1000"]


def test_what_was_not_made_in_time_is_a_fault():
    faults = faults_of(INSTANTS, measured(created=None), [arrival(at) for at in INSTANTS])

    assert faults == ["the executions were not all made in time"]


def test_a_job_that_did_not_do_all_is_a_fault():
    job = {"status": "CANCELLED", "done": 2, "executions": {"succeeded": 2}}
    faults = faults_of(INSTANTS, measured(job=job), [arrival(at) for at in INSTANTS])

    assert faults[0] == "2 of 3 made, the job is CANCELLED"
    assert len(faults) == 2
