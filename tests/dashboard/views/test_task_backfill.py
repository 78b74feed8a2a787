"""Backfill: a range, the exact plan, then the job."""

from __future__ import annotations

import re
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from executions.changes import changing
from executions.models import BulkJob
from tasks.models import Task
from tests.dashboard.asking import audited, said, user_of
from tests.executions.bulk.backfills import let_go, make_backfill, minutely
from tests.executions.bulk.bulk import run_job
from tests.factories import ACTOR, finish, make_task, release, start

BERLIN = {"start": "2026-03-29T01:00", "end": "2026-03-29T04:00"}


@pytest.fixture
def task(alpha):
    return make_task(alpha, minutely(cron_expression="30 1-3 * * *", timezone="Europe/Berlin"))


def look(client, task, **fields):
    query = f"?{urlencode(fields)}" if fields else ""
    return client.get(f"/tasks/{task.pk}/backfill{query}")


def hidden(answer):
    """Return what the page's form carries on."""
    form = answer.text.split("/backfill/begin", 1)[1]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def begin(client, task, **fields):
    return said(client, f"/tasks/{task.pk}/backfill/begin", fields, "/bulk-jobs")


def test_the_page_asks_for_a_range_in_the_tasks_zone(browser, alpha, task):
    answer = look(browser(alpha), task)

    assert answer.status_code == 200
    assert "Europe/Berlin" in answer.text
    assert "/backfill/begin" not in answer.text
    assert not BulkJob.objects.exists()


def test_the_plan_is_shown_exactly_before_anything_is_done(browser, alpha, task):
    answer = look(browser(alpha), task, **BERLIN)

    # At two o'clock the clocks jump to three: half past two comes at three, and once.
    plan = answer.context["plan"]
    assert [one.at.strftime("%H:%M") for one in plan.instants] == ["00:30", "01:00", "01:30"]
    assert "Sun 2026-03-29 01:30:00" in answer.text
    assert "dst_gap" in answer.text
    assert 'name="typed"' not in answer.text
    assert not BulkJob.objects.exists()


def test_the_form_of_the_plan_begins_that_very_plan(browser, alpha, task):
    client = browser(alpha, role="operator")
    shown = hidden(look(client, task, **BERLIN, max_parallel="2"))

    message = begin(client, task, **shown, name="Incident 7")

    job = BulkJob.objects.get()
    assert message.startswith("Requested.")
    assert (job.total, job.name, job.created_by) == (3, "Incident 7", user_of(client))
    assert job.options == {"max_parallel": 2, "overlap_policy": "allow"}
    assert job.filters["start"] == "2026-03-29T00:00:00.000Z"
    assert audited(alpha) == [("bulk_job.created", user_of(client))]


def test_a_schedule_that_changed_in_between_begins_nothing(browser, alpha, task):
    client = browser(alpha)
    shown = hidden(look(client, task, **BERLIN))

    message = begin(client, task, **{**shown, "expected_count": "4"})

    assert message == "There are 3 instants now, not 4; look again."
    assert not BulkJob.objects.exists()


def test_very_many_want_the_count_typed(browser, alpha):
    task = make_task(alpha, minutely())
    client = browser(alpha)
    answer = look(client, task, start="2026-03-01T00:00", end="2026-03-02T00:00")
    shown = hidden(answer)

    assert answer.context["is_typed"]
    assert begin(client, task, **shown).startswith("Type 1441 to continue")
    assert begin(client, task, **shown, typed="1441").startswith("Requested.")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"start": "soon"}, "start"),
        ({"start": "0001-01-01T00:00"}, "start"),
        ({"end": ""}, "end"),
        ({"end": "2199-01-01T00:00"}, "end"),
        ({"end": "2026-03-28T00:00"}, "end"),
        ({"max_parallel": "many"}, "max_parallel"),
        ({"max_parallel": "٣"}, "max_parallel"),
        ({"max_parallel": "0"}, "max_parallel"),
        ({"overlap_policy": "skip"}, "overlap_policy"),
        ({"start": "2026-03-29T01:31", "end": "2026-03-29T01:32"}, "start"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(browser, alpha, task, fields, name):
    answer = look(browser(alpha), task, **{**BERLIN, **fields})

    assert answer.status_code == 200
    assert set(answer.context["errors"]) == {name}
    assert f'id="{name}-error"' in answer.text
    assert "/backfill/begin" not in answer.text


def test_a_damaged_form_is_a_message(browser, alpha, task):
    message = begin(browser(alpha), task, start="x", end="", expected_count="3")

    assert "Give a date and time" in message
    assert not BulkJob.objects.exists()


def test_a_task_that_cannot_be_run_again_says_why(browser, alpha, task):
    changing.cancel_task(alpha.id, task.id, actor=ACTOR)

    answer = look(browser(alpha), task, **BERLIN)

    assert answer.context["refusal"] == "The task has been cancelled."
    assert "/backfill/begin" not in answer.text


def test_a_viewer_gets_no_further_than_the_task(browser, alpha, beta, task):
    client = browser(alpha, role="viewer")

    assert look(client, task).status_code == 403
    assert client.post(f"/tasks/{task.pk}/backfill/begin").status_code == 403
    assert f"/tasks/{task.pk}/backfill" not in client.get(f"/tasks/{task.pk}").text
    assert look(browser(beta), task).status_code == 404
    assert look(browser(alpha), Task(pk=uuid4())).status_code == 404


def test_the_tasks_menu_leads_to_the_form(browser, alpha, task):
    assert (
        f"/tasks/{task.pk}/backfill"
        in browser(alpha, role="operator").get(f"/tasks/{task.pk}").text
    )


def test_the_jobs_page_shows_what_is_made_and_how_far_that_is(browser, alpha):
    task = make_task(alpha, minutely())
    job = run_job(make_backfill(task))
    let_go(job, 2)
    rows = release()
    start(rows)
    finish(rows[0])
    client = browser(alpha)

    answer = client.get(f"/bulk-jobs/{job.pk}")

    assert answer.context["made"]["running"] == 1
    assert answer.context["made_ended"] == 1
    assert "Executions ended" in answer.text
    assert f"/bulk-jobs/{job.pk}/cancel" in answer.text
    listed = client.get(f"/executions?series={job.pk}")
    assert len(listed.context["rows"]) == 50
    assert f"/executions?series={job.pk}" in answer.text
    assert said(client, f"/bulk-jobs/{job.pk}/cancel").startswith("Cancelled")
    ended = client.get(f"/bulk-jobs/{job.pk}")
    assert f"/bulk-jobs/{job.pk}/cancel" not in ended.text


def test_instants_that_were_skipped_are_told_by_their_time(browser, alpha):
    task = make_task(alpha, minutely())
    job = make_backfill(task)
    changing.cancel_task(alpha.id, task.id, actor=ACTOR)
    run_job(job)

    answer = browser(alpha).get(f"/bulk-jobs/{job.pk}")

    assert "task_cancelled" in answer.text
    assert "2026-03-02 10:00" in answer.text
