from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from events.models import Event
from executions.bulk import jobs
from executions.bulk.jobs import (
    cancel_bulk_job,
    create_bulk_job,
    get_bulk_job,
    items_not_done,
    list_bulk_jobs,
)
from executions.dead_letters.letters import archive_dead_letter
from executions.models import BulkJob, BulkJobItem
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.bulk.bulk import counts, make_job, outcomes, run_job
from tests.factories import ACTOR, make_dead_letter
from tests.support.letters import make_letters

pytestmark = pytest.mark.django_db


def create(tenant: Tenant, **parts: Any) -> BulkJob:
    wanted = {"kind": "dead_letters", "action": "retry", "filters": {}, "options": {}, "name": ""}
    return create_bulk_job(tenant.id, actor=ACTOR, **{**wanted, **parts})


def test_the_rows_are_fixed_when_the_job_is_made(alpha: Tenant, beta: Tenant):
    letters = make_letters(alpha, 3)
    make_dead_letter(beta)

    job = make_job(alpha)
    make_dead_letter(alpha)

    items = BulkJobItem.objects.filter(job=job).order_by("position")
    assert [(item.position, item.item_id) for item in items] == [
        (position, letter.id) for position, letter in enumerate(letters)
    ]
    assert (job.total, job.status) == (3, "PENDING")
    assert counts(run_job(job)) == (3, 0, 0)


def test_the_making_is_audited_and_told_without_the_payload(alpha: Tenant):
    letter = make_dead_letter(alpha)

    job = make_job(alpha, filters={"task": letter.task_id}, canary=1, payload={"secret": 1})

    noted = audited(job.id, "bulk_job.created")
    assert noted["actor"] == ACTOR.name
    assert noted["after"] == {
        "kind": "dead_letters",
        "action": "retry",
        "filter": {"task": str(letter.task_id)},
        "options": {"canary": 1},
        "edited": True,
        "total": 1,
    }
    assert (job.created_by, job.address, job.trace_id) == (ACTOR.name, "127.0.0.1", "0" * 32)
    assert Event.objects.filter(name="bulk_job.changed", subject_id=job.id).count() == 1


def test_the_expected_count_keeps_more_than_shown_from_being_touched(alpha: Tenant):
    make_letters(alpha, 2)

    with pytest.raises(Conflict, match="2 rows match now, not 1") as refused:
        create(alpha, expected_count=1)
    assert refused.value.code == "scope_changed"
    assert create(alpha, expected_count=2).total == 2


def test_what_comes_in_between_counting_and_fixing_counts(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 2)
    fix = jobs._fix_items

    def fix_later(job_id: Any, rows: Any) -> int:
        make_dead_letter(alpha)
        return fix(job_id, rows)

    monkeypatch.setattr(jobs, "_fix_items", fix_later)

    with pytest.raises(Conflict):
        create(alpha, expected_count=2)
    assert not BulkJob.objects.exists()
    assert not BulkJobItem.objects.exists()


def test_nothing_is_no_job(alpha: Tenant):
    nothing: list[dict[str, Any]] = [{}, {"ids": []}]
    for filters in nothing:
        with pytest.raises(InvalidInput) as refused:
            create(alpha, filters=filters)
        assert refused.value.code == "nothing_matches"


def test_more_rows_than_a_job_may_have_are_refused(alpha: Tenant, monkeypatch: Any):
    make_letters(alpha, 3)
    monkeypatch.setattr(jobs, "MAX_ITEMS", 2)

    with pytest.raises(InvalidInput) as refused:
        create(alpha)

    assert refused.value.errors[0].code == "too_many"


def test_wrong_actions_filters_and_options_make_no_job(alpha: Tenant):
    make_dead_letter(alpha)

    for wrong in ({"action": "run"}, {"filters": {"x": 1}}, {"options": {"x": 1}}, {"kind": "x"}):
        with pytest.raises(InvalidInput):
            create(alpha, **wrong)
    assert not BulkJob.objects.exists()


def test_texts_with_percent_signs_and_quotes_are_found_as_they_are(alpha: Tenant):
    make_dead_letter(alpha)

    with pytest.raises(InvalidInput):
        create(alpha, filters={"q": "100%s '{rows}'"})
    assert create(alpha, filters={"q": "once"}).total == 1


def test_cancelling_skips_what_is_left_and_is_audited(alpha: Tenant):
    make_letters(alpha, 2)
    job = make_job(alpha)

    cancelled = cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    assert (cancelled.status, counts(job)) == ("CANCELLED", (0, 2, 0))
    assert outcomes(job) == [("skipped", "job_cancelled")] * 2
    assert cancelled.finished_at is not None
    assert audited(job.id, "bulk_job.cancelled")["after"]["skipped"] == 2


def test_an_ended_job_cannot_be_cancelled(alpha: Tenant):
    make_letters(alpha, 1)
    job = run_job(make_job(alpha))

    with pytest.raises(Conflict) as refused:
        cancel_bulk_job(alpha.id, job.id, actor=ACTOR)
    assert refused.value.code == "already_final"


def test_another_tenants_job_is_not_there(alpha: Tenant, beta: Tenant):
    make_letters(alpha, 1)
    job = make_job(alpha)

    with pytest.raises(NotFound):
        get_bulk_job(beta.id, job.id)
    with pytest.raises(NotFound):
        cancel_bulk_job(beta.id, job.id, actor=ACTOR)
    with pytest.raises(NotFound):
        get_bulk_job(alpha.id, uuid4())
    assert get_bulk_job(alpha.id, job.id) == job
    assert list(list_bulk_jobs(alpha.id)) == [job]
    assert not list_bulk_jobs(beta.id).exists()


def test_items_that_were_not_done_are_listed(alpha: Tenant):
    first, _ = make_letters(alpha, 2)
    job = make_job(alpha)
    archive_dead_letter(alpha.id, first.id, note="", actor=ACTOR)

    run_job(job)

    (item,) = items_not_done(job)
    assert (item.item_id, item.outcome, item.code) == (first.id, "skipped", "already_resolved")
    assert "archived" in item.message
