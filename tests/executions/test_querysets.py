from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions import querysets
from executions.loop.clocks import database_now
from executions.models import BulkJob, DeadLetter, Execution
from shared.exceptions import NotFound
from tenants.models import Tenant
from tests.executions.bulk.bulk import make_job, run_job
from tests.factories import (
    every_second,
    executions_of,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
)
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db


def span_of(tenant: Tenant) -> Execution:
    task = make_task(tenant, every_second())
    long_ago = database_now() - timedelta(hours=1)
    change_task(task.pk, next_run_at=long_ago, created_at=long_ago)
    prepare()
    return Execution.objects.get(task_id=task.id, span_count__isnull=False)


def test_a_tenant_has_its_own_executions_without_span_rows(alpha: Tenant, beta: Tenant):
    span = span_of(alpha)
    other = make_execution(beta)

    found = Execution.objects.for_tenant(alpha.id)

    assert found.exists()
    assert not found.filter(id__in=[span.id, other.id]).exists()


def test_one_execution_is_fetched_and_authorised_in_one_call(alpha: Tenant, beta: Tenant):
    execution = make_execution(alpha)

    assert Execution.objects.get_for_tenant(alpha.id, execution.id, lock=True) == execution
    for tenant, wanted in (
        (beta, execution.id),
        (alpha, uuid4()),
        (alpha, span_of(alpha).id),
    ):
        with pytest.raises(NotFound):
            Execution.objects.get_for_tenant(tenant.id, wanted)


def test_a_range_begins_with_since_and_ends_before_until(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    rows = executions_of(task)
    since, until = rows[2].scheduled_for, rows[5].scheduled_for
    everything = Execution.objects.for_tenant(alpha.id).order_by("id")

    assert list(everything.scheduled_between(since, until)) == rows[2:5]
    assert list(everything.scheduled_between(since, None)) == rows[2:]
    assert list(everything.scheduled_between(None, until)) == rows[:5]
    assert list(everything.scheduled_between(None, None)) == rows


@pytest.mark.parametrize("year", [1, 1969, 9999])
def test_any_time_may_bound_a_range(year: int):
    at = datetime(year, 6, 1, tzinfo=UTC)

    assert not Execution.objects.scheduled_between(at, at).exists()


@pytest.mark.parametrize(
    ("text", "count"),
    [("ONCE", 1), ("team", 1), ("Billing", 1), ("answer was", 1), ("http_", 1), ("%", 0), ("", 1)],
)
def test_executions_match_a_text_as_it_is(alpha: Tenant, text: str, count: int):
    make_execution(alpha, "FAILED", once(labels={"team": "billing"}))

    assert Execution.objects.for_tenant(alpha.id).matching(text).count() == count


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("text", ["once", "team", "Billing", "answer was", "http_", "%", "", None])
def test_parts_of_a_search_are_together_what_it_finds(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch, text: str | None, few: int
):
    monkeypatch.setattr(querysets, "_FEW_TASKS", few)
    make_execution(alpha, "FAILED", once(labels={"team": "billing"}))
    make_execution(alpha, "SUCCEEDED", once(name="Reports"))
    make_execution(beta, "FAILED", once())
    rows = Execution.objects.for_tenant(alpha.id)

    parts = rows.parts(alpha.id, {"q": text})

    assert {row for part in parts for row in part} == set(rows.filtered({"q": text}))


def test_parts_keep_to_the_other_filters(alpha: Tenant):
    make_execution(alpha, "FAILED")
    rows = Execution.objects.for_tenant(alpha.id)

    others: list[dict[str, Any]] = [
        {"status": ["SUCCEEDED"]},
        {"pool": "other"},
        {"task": uuid4()},
        {"ids": []},
    ]
    for filters in others:
        assert not any(part.exists() for part in rows.parts(alpha.id, {"q": "once", **filters}))


def test_letters_match_a_text_in_their_note_too(alpha: Tenant):
    letter = make_dead_letter(alpha)
    DeadLetter.objects.filter(pk=letter.pk).update(note="Waits for Ann")
    letters = DeadLetter.objects.for_tenant(alpha.id)

    assert letters.matching("ann").get() == letter
    assert letters.matching("once").get() == letter
    assert not letters.matching("bob").exists()


def test_letters_are_counted_by_cause(alpha: Tenant, beta: Tenant):
    for _ in range(2):
        make_dead_letter(alpha)
    make_dead_letter(beta)

    (group,) = DeadLetter.objects.for_tenant(alpha.id).grouped_by_signature()

    assert (group["error_signature"], group["count"], group["tasks"]) == ("http_status:500", 2, 2)
    assert group["first_seen"] <= group["last_seen"]


def test_one_letter_is_fetched_and_authorised_in_one_call(alpha: Tenant, beta: Tenant):
    letter = make_dead_letter(alpha)

    assert DeadLetter.objects.get_for_tenant(alpha.id, letter.id, lock=True) == letter
    for tenant, wanted in ((beta, letter.id), (alpha, uuid4())):
        with pytest.raises(NotFound):
            DeadLetter.objects.get_for_tenant(tenant.id, wanted)


def test_filters_that_are_absent_or_none_leave_all(alpha: Tenant):
    execution = make_execution(alpha)
    letter = make_dead_letter(alpha)

    empty: list[dict[str, Any]] = [{}, dict.fromkeys(("status", "task", "since", "q", "ids"))]
    for filters in empty:
        assert Execution.objects.for_tenant(alpha.id).filtered(filters).count() == 2
        assert DeadLetter.objects.for_tenant(alpha.id).filtered(filters).get() == letter
    found = Execution.objects.filtered({"ids": [execution.id], "pool": "default", "q": "once"})
    assert found.get() == execution
    assert not Execution.objects.filtered({"status": ["FAILED"], "pool": "other"}).exists()
    assert not DeadLetter.objects.filtered({"ids": []}).exists()


def test_a_bulk_job_is_read_by_its_tenant_only(alpha: Tenant, beta: Tenant):
    make_dead_letter(alpha)
    job = make_job(alpha)

    assert BulkJob.objects.get_for_tenant(alpha.id, job.id, lock=True) == job
    assert BulkJob.objects.active().get() == job
    with pytest.raises(NotFound):
        BulkJob.objects.get_for_tenant(beta.id, job.id)
    run_job(job)
    assert not BulkJob.objects.active().exists()
