"""What counts for the objectives and what spends their budgets; hours, folding and pruning."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import get_args

import pytest

from delivery.errors import ErrorCode
from executions import transitions
from executions.ledger import objectives, totals
from executions.ledger.objectives import (
    CAUSES,
    KEPT,
    OWN_FAULTS,
    Answers,
    Objective,
    Origin,
    late_cause,
    own_fault,
)
from executions.loop.clocks import database_now
from executions.models import MinuteStat, ObjectiveCount, ObjectiveHour
from shared.ids import new_id
from shared.tenant_scope import NO_TENANT
from tenants.models import Tenant
from tests.architecture import tree
from tests.executions.ledger.ends import ended, queued

pytestmark = pytest.mark.django_db
PAGE = tree.REPOSITORY / "docs" / "reference" / "objectives.md"
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("delay", "waited", "cause"),
    [
        (None, None, ""),
        (0.0, 0.0, ""),
        (5_000.0, 5_000.0, ""),
        (5_000.1, 4_000.0, "waited_in_worker"),
        (5_000.1, 2_500.0, "waited_for_dispatch"),
        (60_000.0, None, "waited_for_dispatch"),
        (60_000.0, -3.0, "waited_for_dispatch"),
    ],
)
def test_a_start_is_late_beyond_five_seconds_and_says_where_it_waited(delay, waited, cause):
    assert late_cause(delay, waited) == cause


@pytest.mark.parametrize(
    ("outcome", "code", "leased", "fault"),
    [
        ("SUCCEEDED", "", False, ""),
        ("WORKER_LOST", "worker_lost", False, "worker_lost"),
        ("WORKER_LOST", "worker_lost", True, ""),
        ("FAILED", "internal", False, "internal"),
        ("FAILED", "decryption_failed", True, "decryption_failed"),
        ("FAILED", "http_status", False, ""),
        ("FAILED", "a word of a receiver", False, ""),
        ("TIMED_OUT", "timeout_total", False, ""),
        ("CANCELLED", "worker_lost", True, ""),
        ("CANCELLED", "internal", False, ""),
    ],
)
def test_own_faults_are_told_from_external_failures(outcome, code, leased, fault):
    assert own_fault(outcome, code, leased=leased) == fault


def test_the_list_has_every_cause_once_and_every_error_of_a_delivery():
    codes = [(one.objective, one.code) for one in CAUSES]
    success = {one.code for one in CAUSES if one.objective is Objective.SUCCESS}

    assert len(codes) == len(set(codes))
    assert set(get_args(ErrorCode)) <= success
    assert {
        one.code
        for one in CAUSES
        if one.objective is Objective.SUCCESS
        and one.origin is Origin.OWN
        and not one.code.startswith("misfire_")
    } == OWN_FAULTS


def test_the_page_has_the_list():
    lines = re.findall(r"^\| `.*\| (?:own|external) \|.*$", PAGE.read_text(encoding="utf-8"), re.M)

    assert lines == [
        f"| `{one.code}` | {one.objective} | {one.origin} | {one.meaning} |" for one in CAUSES
    ]


def test_a_batch_counts_by_band_and_spends_once_however_often_it_is_reported(alpha: Tenant):
    on_time, late, lost, broken = queued(alpha, 4)
    at = database_now()
    batch = [
        ended(on_time),
        ended(late, started_at=late.due_at + timedelta(seconds=6), finished_at=at),
        ended(lost, "RETRYING", outcome="WORKER_LOST", error_code="worker_lost"),
        ended(broken, "FAILED", outcome="FAILED", error_code="internal"),
    ]

    transitions.finish(batch)
    transitions.finish(batch)

    kept = [row.by_band for row in MinuteStat.objects.all()]
    assert [sum(column) for column in zip(*kept, strict=True)] == [0, 4, 0, 0, 4, 0]
    spent = {
        (row.objective, row.cause): (row.band, row.counted, row.bad, row.execution_id)
        for row in ObjectiveCount.objects.all()
    }
    assert spent == {
        # It began six seconds after it was due, and was handed out at once.
        ("start", "waited_in_worker"): (1, 0, 1, late.id),
        ("success", "worker_lost"): (1, 0, 1, lost.id),
        ("success", "internal"): (1, 0, 1, broken.id),
    }
    assert {
        name: number for name, number in totals.read().items() if name.startswith("own_faults/")
    } == {"own_faults/worker_lost": 1, "own_faults/internal": 1}


def test_causes_of_one_kind_are_one_row_of_a_batch(alpha: Tenant):
    rows = queued(alpha, 3)
    at = database_now()
    parts = {"outcome": "WORKER_LOST", "error_code": "worker_lost", "finished_at": at}
    transitions.finish([ended(row, "FAILED", started_at=at, **parts) for row in rows])

    row = ObjectiveCount.objects.get()
    assert (row.bad, row.counted) == (3, 0)
    assert row.execution_id in {one.id for one in rows}


def test_answers_are_added_by_tenant_and_without_one(alpha: Tenant):
    objectives.add_answers([Answers(alpha.id, 10, 0), Answers(NO_TENANT, 4, 2)])

    found = {row.tenant_id: (row.counted, row.bad, row.cause) for row in _counts()}
    assert found == {alpha.id: (10, 0, ""), NO_TENANT: (4, 2, "server_error")}
    assert {row.band for row in _counts()} == {None}


def _counts() -> list[ObjectiveCount]:
    return list(ObjectiveCount.objects.order_by("at", "id"))


def _count(tenant: Tenant, hours: float, bad: int, **parts) -> ObjectiveCount:
    at = database_now().replace(minute=30, second=0, microsecond=0) - hours * HOUR
    fields = {"objective": "start", "cause": "waited_in_worker", "band": 1, "counted": 0, **parts}
    return ObjectiveCount.objects.create(tenant_id=tenant.id, at=at, bad=bad, **fields)


def test_rows_of_past_hours_are_folded_and_no_sum_changes(alpha: Tenant, beta: Tenant):
    recent = _count(alpha, 1, 1)
    for tenant, hours, bad in ((alpha, 20, 2), (alpha, 20, 3), (alpha, 21, 5), (beta, 20, 7)):
        _count(tenant, hours, bad)
    _count(alpha, 20, 11, band=None, objective="api", cause="server_error", counted=100)

    assert objectives.fold(database_now()) == 5
    assert objectives.fold(database_now()) == 0

    folded = [row for row in _counts() if row.hourly]
    assert sorted((row.bad, row.counted) for row in folded) == [(5, 0), (5, 0), (7, 0), (11, 100)]
    assert {(row.at.minute, row.at.second) for row in folded} == {(0, 0)}
    assert [row.pk for row in _counts() if not row.hourly] == [recent.pk]


def test_a_row_that_takes_off_what_was_counted_leaves_the_example_of_the_hour(alpha: Tenant):
    example = new_id()
    _count(alpha, 20, 3, execution_id=example)
    _count(alpha, 20, -1)

    objectives.fold(database_now())

    assert [(row.bad, row.execution_id) for row in _counts()] == [(2, example)]


def test_a_full_fold_is_followed_by_another(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(objectives, "_MOST_FOLDED", 2)
    for _ in range(5):
        _count(alpha, 20, 1)

    assert objectives.fold(database_now()) == 5
    assert sum(row.bad for row in _counts()) == 5


def test_hours_are_added_up_of_their_minutes_and_a_repeat_changes_nothing(alpha: Tenant):
    hour = database_now().replace(minute=0, second=0, microsecond=0) - HOUR
    for minute, by_band in ((0, [1, 0, 2, 3, 0, 4]), (59, [1, 0, 0, 1, 0, 0]), (60, [9] * 6)):
        MinuteStat.objects.create(
            tenant_id=alpha.id,
            minute=hour + timedelta(minutes=minute),
            start_delays=[],
            by_band=by_band,
        )
    MinuteStat.objects.create(tenant_id=alpha.id, minute=hour - HOUR, start_delays=[])

    for _ in range(2):
        objectives.roll_up(hour - HOUR, hour + HOUR)

    kept = ObjectiveHour.objects.filter(tenant_id=alpha.id)
    assert {(row.hour, row.band): (row.starts, row.attempts) for row in kept} == {
        (hour, 0): (2, 4),
        (hour, 2): (2, 4),
    }


def test_what_no_budget_reads_any_more_is_deleted(alpha: Tenant):
    now = database_now()
    days = KEPT / HOUR
    old, kept = (_count(alpha, days + more, 1, hourly=True) for more in (2, -2))
    for at in (now - KEPT - HOUR, now - KEPT + HOUR):
        ObjectiveHour.objects.create(tenant_id=alpha.id, hour=at, band=1, starts=1, attempts=1)

    assert objectives.prune(now) == 2

    assert [row.pk for row in _counts()] == [kept.pk] != [old.pk]
    assert ObjectiveHour.objects.count() == 1
