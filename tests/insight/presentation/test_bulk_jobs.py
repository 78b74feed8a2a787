from __future__ import annotations

import pytest

from executions.bulk.backfill import Wanted, plan_backfill
from executions.bulk.jobs import count_matching, items_not_done
from executions.bulk.scope import Scope
from executions.changes import changing
from executions.dead_letters.letters import archive_dead_letter
from executions.models import DeadLetter, Execution
from insight.presentation.bulk_jobs import (
    present_backfill_plan,
    present_bulk_job,
    present_item,
    present_job_detail,
    present_sample,
    present_scope,
)
from shared.instants import format_instant, parse_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.bulk.backfills import HOUR, make_backfill, minutely
from tests.executions.bulk.bulk import make_job, run_job
from tests.factories import ACTOR, make_dead_letter, make_task

pytestmark = pytest.mark.django_db


def test_a_new_job_shows_what_it_will_do_and_that_all_remains(alpha: Tenant):
    letter = make_dead_letter(alpha)

    job = make_job(alpha, filters={"task": letter.task_id}, canary=1, payload={"secret": 1})

    assert present_bulk_job(job) == {
        "id": str(job.id),
        "name": "Mend it",
        "kind": "dead_letters",
        "action": "retry",
        "filter": {"task": str(letter.task_id)},
        "options": {"canary": 1},
        "payload_edited": True,
        "status": "PENDING",
        "reason": None,
        "total": 1,
        "done": 0,
        "skipped": 0,
        "failed": 0,
        "remaining": 1,
        "created_by": ACTOR.name,
        "created_at": format_instant(job.created_at),
        "started_at": None,
        "finished_at": None,
    }


def test_an_ended_job_shows_counts_that_add_up(alpha: Tenant):
    letters = [make_dead_letter(alpha) for _ in range(2)]
    job = make_job(alpha)
    archive_dead_letter(alpha.id, letters[0].id, note="", actor=ACTOR)

    shown = present_bulk_job(run_job(job))

    assert (shown["status"], shown["remaining"]) == ("COMPLETED", 0)
    assert shown["total"] == shown["done"] + shown["skipped"] + shown["failed"] == 2
    assert present_item(items_not_done(job).get()) == {
        "position": 0,
        "id": str(letters[0].id),
        "at": None,
        "outcome": "skipped",
        "code": "already_resolved",
        "message": "The dead letter was resolved as archived.",
        "result_id": None,
    }


def test_the_page_of_a_job_tells_how_far_the_executions_are_that_it_made(alpha: Tenant):
    job = run_job(make_backfill(make_task(alpha, minutely())))
    make_dead_letter(alpha)

    assert present_job_detail(job)["executions"]["pending"] == 61
    assert present_job_detail(make_job(alpha))["executions"]["pending"] == 0
    assert present_job_detail(make_job(alpha, "archive"))["executions"] is None


def test_the_plan_of_a_backfill_is_told_in_utc_and_in_the_tasks_zone(alpha: Tenant):
    task = make_task(alpha, minutely(cron_expression="30 2 * * *", timezone="Europe/Berlin"))
    day = Wanted(parse_instant("2026-03-29T00:00:00Z"), parse_instant("2026-03-29T12:00:00Z"))

    assert present_backfill_plan(plan_backfill(alpha.id, task.id, day)) == {
        "count": 1,
        "first": "2026-03-29T01:00:00.000Z",
        "last": "2026-03-29T01:00:00.000Z",
        "excluded": 0,
        "max_parallel": 10,
        "overlap_policy": "allow",
        "estimated_seconds": None,
        "sample": [
            {
                "utc": "2026-03-29T01:00:00.000Z",
                "local": "2026-03-29T03:00:00.000+02:00",
                "notes": ["dst_gap"],
            }
        ],
    }


def test_an_instant_that_was_skipped_is_shown_with_its_time(alpha: Tenant):
    task = make_task(alpha, minutely())
    job = make_backfill(task)
    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    shown = present_item(items_not_done(run_job(job)).order_by("position").first())

    assert (shown["at"], shown["code"]) == (format_instant(HOUR.start), "task_deleted")


def test_an_empty_scope_has_no_times(alpha: Tenant):
    assert present_scope(count_matching(alpha.id, "tasks", {})) == {
        "count": 0,
        "oldest": None,
        "newest": None,
        "tasks": 0,
    }
    assert present_scope(Scope(0, None, None, 0))["oldest"] is None


def test_a_sample_names_the_task_of_every_kind_of_row(alpha: Tenant):
    letter = make_dead_letter(alpha)
    task = Task.objects.get(pk=letter.task_id)
    execution = Execution.objects.get(pk=letter.execution_id)

    shown = present_sample([task, letter, execution])

    assert {(row["task_id"], row["task_name"]) for row in shown} == {(str(task.id), "Once")}
    assert [row["state"] for row in shown] == [task.status, "http_status:500", "FAILED"]
    assert shown[2]["at"] == format_instant(execution.scheduled_for)
    assert present_sample(DeadLetter.objects.none()) == []
