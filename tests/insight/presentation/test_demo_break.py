"""The words of a break: its state in one sentence, and its document."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.demo.breaks import Break, Kind
from insight.demo_break import Counts, Moment, Report
from insight.presentation.demo_break import KINDS, headline, present_report

AT = datetime(2026, 11, 20, 8, tzinfo=UTC)
STRIKE = AT + timedelta(seconds=6)
COUNTS = Counts(
    expected=360,
    due=80,
    succeeded=60,
    under_way=20,
    failed=0,
    skipped=0,
    late=0,
    slowest_ms=None,
    retries=0,
    lost_attempts=0,
    taken_back=0,
    requests=60,
    arrived=60,
    sent_again=0,
    doubled=0,
    missing=300,
)
DONE = replace(COUNTS, due=360, succeeded=360, under_way=0, requests=360, arrived=360, missing=0)


def report(kind: Kind, phase: str, **parts: Any) -> Report:
    first, last = AT + timedelta(seconds=2), AT + timedelta(seconds=46)
    given = {
        "now": STRIKE,
        "struck_at": STRIKE,
        "waiting": 0,
        "unowned": 0,
        "counts": COUNTS,
        "moments": (),
        "recovered_after": None,
        **parts,
    }
    made = Break(UUID(int=1), kind, "user:1", AT, STRIKE, first, last, 8, 0)
    return Report(broken=made, phase=phase, **given)


@pytest.mark.parametrize(
    ("found", "tone", "words"),
    [
        (report(Kind.WORKER, "waits", now=AT, struck_at=None), "info", "is killed in 6 s"),
        (report(Kind.RECEIVER_FAILS, "acts"), "error", "answers 503 for another 20 s"),
        (report(Kind.RECEIVER_SLOW, "acts"), "error", "60 of 80 instants have run so far"),
        (report(Kind.RECEIVER_SLOW, "recovers"), "warning", "answers as usual again"),
        (report(Kind.WORKER, "recovers"), "warning", "The worker is dead"),
        (report(Kind.WORKER, "recovers", struck_at=None), "warning", "Nothing was killed"),
        (report(Kind.SCHEDULER, "recovers", waiting=9), "warning", "9 partitions wait"),
        (report(Kind.SCHEDULER, "recovers"), "warning", "Every partition has an owner again"),
        (report(Kind.WORKER, "over", counts=DONE), "success", "No start was delayed"),
        (
            report(Kind.WORKER, "over", counts=DONE, recovered_after=8.26),
            "success",
            "Nothing lost, nothing doubled: 360 of 360 instants ran. All that was delayed had "
            "ended 8.3 s after the strike.",
        ),
        (report(Kind.WORKER, "over"), "error", "300 missing, 0 doubled"),
        (
            report(Kind.WORKER, "over", counts=replace(DONE, missing=None, doubled=None)),
            "warning",
            "The receiver's count is missing",
        ),
    ],
)
def test_the_state_is_one_sentence(found: Report, tone: str, words: str):
    got = headline(found)

    assert got[0] == tone
    assert words in got[1]


@pytest.mark.parametrize("change", [{"failed": 1}, {"skipped": 1}, {"doubled": 1}])
def test_one_count_too_many_breaks_the_promise(change: dict[str, int]):
    found = report(Kind.WORKER, "over", counts=replace(DONE, **change))

    assert (found.kept, headline(found)[0]) == (False, "error")


def test_the_document_counts_seconds_from_the_strike():
    moments = (Moment(AT, "begins"), Moment(STRIKE + timedelta(milliseconds=8260), "over"))
    found = present_report(report(Kind.WORKER, "recovers", moments=moments))

    assert [one["seconds"] for one in found["moments"]] == [-6.0, 8.3]
    assert (found["kind"], found["kept"], found["counts"]["expected"]) == ("worker", None, 360)


def test_each_kind_says_what_it_does():
    assert set(KINDS) == set(Kind)
