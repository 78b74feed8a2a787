from __future__ import annotations

from dataclasses import replace

import pytest

from operations.proof.ledger import Arrival, Record
from operations.proof.matcher import Evidence, Fault, Verdict, match
from operations.proof.oracle import Target

AT = 1_000_000
MS = 1_000_000
TARGET = Target("t1", AT, "cron", "/ok", "ok", 5)
FAILING = replace(TARGET, path="/500", behaviour="failing", max_attempts=2)
LINE = Arrival("t1", AT, (AT + 2) * MS, "e1", 1, 10, "/ok", 200, 0, True, "body")
ROW = Record("e1", "t1", AT, "SUCCEEDED", None, 1, 2.0)


def judge(
    lines: list[Arrival],
    rows: list[Record],
    *,
    targets: tuple[Target, ...] = (TARGET,),
    faults: tuple[Fault, ...] = (),
) -> Verdict:
    return match(Evidence(list(targets), lines, rows, faults))


def counted(verdict: Verdict) -> dict[str, int]:
    return {label: count for label, count in verdict.labels.items() if count}


def later(milliseconds: float, **changes: object) -> Arrival:
    return replace(LINE, wall_ns=round((AT + milliseconds) * MS), **changes)  # type: ignore[arg-type]  # any field


def test_one_success_that_the_product_recorded_is_ok():
    verdict = judge([LINE], [ROW])

    assert counted(verdict) == {"ok": 1}
    assert (verdict.expected, verdict.run, verdict.missed, verdict.duplicates) == (1, 1, 0, 0)
    assert verdict.start_delay.p50 == 2.0
    assert verdict.passed


def test_a_success_after_retries_is_ok_and_the_first_attempt_is_the_start():
    lines = [later(2, status=500), later(900, attempt=2, token=11)]

    verdict = judge(lines, [ROW])

    assert counted(verdict) == {"ok": 1}
    assert verdict.start_delay.max == 2.0


@pytest.mark.parametrize(
    ("row", "label"),
    [
        (None, "lost"),
        (replace(ROW, status="QUEUED"), "lost"),
        (ROW, "phantom"),
        (replace(ROW, status="SKIPPED"), "skipped"),
        (replace(ROW, status="CANCELLED"), "skipped"),
        (replace(ROW, status="FAILED"), "wrong"),
    ],
)
def test_an_instant_without_a_success_is_labelled_by_the_products_record(
    row: Record | None, label: str
):
    verdict = judge([], [row] if row else [])

    assert counted(verdict) == {label: 1}
    assert not verdict.passed


def test_a_success_that_the_product_did_not_record_is_not_ok():
    assert counted(judge([LINE], [replace(ROW, status="RUNNING")])) == {"unrecorded": 1}


def test_a_failing_instant_is_right_when_all_attempts_were_used():
    failed = replace(ROW, status="FAILED")
    lines = [
        later(1, path="/500", status=500),
        later(600, path="/500", status=500, attempt=2, token=11),
    ]

    assert counted(judge(lines, [failed], targets=(FAILING,))) == {"failed": 1}
    assert counted(judge(lines[:1], [failed], targets=(FAILING,))) == {"wrong": 1}


def test_two_successes_without_a_fault_are_a_duplicate():
    verdict = judge([LINE, later(50, attempt=2, token=11)], [ROW])

    assert counted(verdict) == {"dup": 1}
    assert not verdict.passed


@pytest.mark.parametrize(
    ("at_ms", "lasted_ms", "count"),
    [
        (-200, 0, 0),
        (-100, 0, 1),  # sent, and on its way
        (50, 0, 1),
        (200, 0, 1),  # answered, and not recorded yet
        (300, 0, 0),
        (5000, 0, 0),
        (5000, 4950, 1),
        (5000, 4000, 0),
    ],
)
def test_a_request_is_in_flight_from_its_sending_to_its_record(at_ms, lasted_ms, count):
    fault = Fault("stop", (AT + at_ms) * MS, (lasted_ms + 500) * MS, 500 * MS)

    verdict = judge([later(0, delay_ms=100)], [ROW], faults=(fault,))

    assert verdict.in_flight_at_faults == count


def test_a_duplicate_of_a_request_in_flight_at_a_fault_is_attributed():
    fault = Fault("kill", (AT + 30) * MS)
    lines = [later(2, delay_ms=100), later(9000, attempt=2, token=11)]

    verdict = judge(lines, [ROW], faults=(fault,))

    assert counted(verdict) == {"dup_attributed": 1}
    assert verdict.in_flight_at_faults == 1
    assert verdict.passed


@pytest.mark.parametrize(
    "second",
    [
        later(9000, attempt=1, token=11),
        later(9000, attempt=2, token=10),
        later(9000, attempt=2, token=11, webhook_id="e2"),
    ],
)
def test_a_duplicate_is_not_attributed_without_rising_attempt_and_token_and_one_id(
    second: Arrival,
):
    fault = Fault("kill", (AT + 30) * MS)

    verdict = judge([later(2, delay_ms=100), second], [ROW], faults=(fault,))

    assert counted(verdict) == {"dup": 1}


@pytest.mark.parametrize(
    ("stopped_at_ms", "label"),
    [(8990, "dup_attributed"), (3000, "dup")],
)
def test_a_stopped_worker_may_send_after_the_next_attempt_when_it_goes_on(
    stopped_at_ms: int, label: str
):
    stopped = Fault("stop", (AT + stopped_at_ms) * MS, 9500 * MS, 500 * MS)
    lines = [later(2500, attempt=2, token=11, delay_ms=100), later(9000, attempt=1, token=10)]

    verdict = judge(lines, [replace(ROW, attempt=2)], faults=(stopped,))

    assert counted(verdict) == {label: 1, "late": 1}


def test_a_duplicate_of_a_request_answered_long_before_the_fault_is_not_attributed():
    fault = Fault("kill", (AT + 3000) * MS, before_ns=500 * MS, after_ns=500 * MS)

    verdict = judge([LINE, later(9000, attempt=2, token=11)], [ROW], faults=(fault,))

    assert counted(verdict) == {"dup": 1}


def test_more_requests_than_attempts_are_a_duplicate_also_when_all_failed():
    lines = [later(n, path="/500", status=500, attempt=n, token=n) for n in (1, 2, 3)]

    verdict = judge(lines, [replace(ROW, status="FAILED")], targets=(FAILING,))

    assert counted(verdict) == {"dup": 1}


def test_a_request_before_its_time_is_early_by_however_little():
    assert judge([later(-0.001)], [ROW]).labels["early"] == 1
    assert judge([later(0)], [ROW]).labels["early"] == 0


def test_a_start_over_the_bound_is_late_and_still_ok():
    verdict = judge([later(1500)], [ROW])

    assert counted(verdict) == {"ok": 1, "late": 1}
    assert verdict.passed


@pytest.mark.parametrize(
    "line",
    [
        replace(LINE, at_ms=AT - 5),
        replace(LINE, task_id="other"),
        replace(LINE, path="/elsewhere"),
        replace(LINE, signature_ok=False),
    ],
)
def test_requests_that_nobody_asked_for_are_extra(line: Arrival):
    verdict = judge([line], [ROW])

    assert verdict.labels["extra"] == 1
    assert not verdict.passed


def test_a_body_that_changes_between_runs_of_a_task_is_extra():
    second = replace(TARGET, at_ms=AT + 1000)
    lines = [LINE, replace(LINE, at_ms=AT + 1000, wall_ns=(AT + 1001) * MS, body_sha256="other")]
    rows = [ROW, replace(ROW, at_ms=AT + 1000, execution_id="e2")]

    verdict = judge(lines, rows, targets=(TARGET, second))

    assert counted(verdict) == {"ok": 2, "extra": 1}


def test_a_second_execution_of_an_instant_is_extra():
    verdict = judge([LINE], [ROW, replace(ROW, execution_id="e2")])

    assert counted(verdict) == {"ok": 1, "extra": 1}


def test_an_optional_instant_counts_only_if_it_ran():
    optional = replace(TARGET, required=False)

    assert judge([], [], targets=(optional,)).expected == 0
    assert judge([LINE], [ROW], targets=(optional,)).expected == 1


def test_the_instant_of_a_delay_is_matched_within_its_bounds():
    delay = replace(TARGET, at_ms=AT - 15, slack_ms=20)

    assert counted(judge([LINE], [ROW], targets=(delay,))) == {"ok": 1}
    outside = replace(TARGET, at_ms=AT - 30, slack_ms=20)
    assert judge([LINE], [ROW], targets=(outside,)).missed == 1


def test_a_task_acknowledged_after_its_time_is_timed_from_the_answer():
    known_late = replace(TARGET, acknowledged_ms=AT + 500)

    verdict = judge([later(503)], [ROW], targets=(known_late,))

    assert verdict.start_delay.max == 3.0
    assert verdict.labels["acknowledged_after_its_time"] == 1


def test_the_stored_result_holds_counts_and_examples():
    found = judge([], []).as_json()

    assert found["missed"] == 1
    assert found["passed"] is False
    assert "no row" in found["examples"]["lost"][0]
