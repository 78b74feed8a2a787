"""Bulk jobs: the exact scope first, then the job, then its progress."""

from __future__ import annotations

from uuid import uuid4

import orjson
import pytest

from dashboard.views import bulk_jobs as views
from executions.models import BulkJob, Execution
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.executions.bulk.backfills import make_backfill, minutely
from tests.executions.bulk.bulk import let_time_pass, make_job, run_job
from tests.factories import daily, make_dead_letter, make_execution, make_task, once
from tests.support.canaries import end_retries
from tests.support.letters import make_letters


def created(client, verb="retry", kind="dead_letters", count=1, **fields):
    given = {"kind": kind, "action": verb, "expected_count": count, "back": "/bulk-jobs", **fields}
    filters = given.pop("filters", {"q": "once"})
    text = filters if isinstance(filters, str) else orjson.dumps(filters).decode()
    return said(client, "/bulk-jobs/create", {**given, "filters": text}, "/bulk-jobs")


@pytest.mark.parametrize(
    ("kind", "verb"),
    [
        ("dead_letters", "retry"),
        ("dead_letters", "purge"),
        ("executions", "retry"),
        ("tasks", "pause"),
        ("tasks", "delete"),
    ],
)
def test_the_scope_is_shown_exactly_before_anything_is_done(browser, alpha, beta, kind, verb):
    make_letters(alpha, 2)
    make_dead_letter(beta)

    answer = browser(alpha).get(f"/bulk-jobs/new?kind={kind}&action={verb}&q=once")

    assert answer.status_code == 200
    assert answer.context["scope"].count == 2
    assert len(answer.context["sample"]) == 2
    assert ('name="typed"' in answer.text) == (verb in ("purge", "delete"))
    assert not BulkJob.objects.exists()


def test_the_scope_of_chosen_rows_is_those_rows(browser, alpha, beta):
    letters = [*make_letters(alpha, 3)[:2], make_dead_letter(beta)]
    query = "&".join(f"ids={letter.pk}" for letter in letters)

    answer = browser(alpha).get(f"/bulk-jobs/new?kind=dead_letters&action=archive&{query}")

    assert answer.context["scope"].count == 2


def test_an_empty_scope_says_that_nothing_matches(browser, alpha):
    answer = browser(alpha).get("/bulk-jobs/new?kind=dead_letters&action=retry&q=nowhere")

    assert "Nothing matches" in answer.text
    assert "/bulk-jobs/create" not in answer.text


def test_a_viewer_gets_no_further_than_the_list(browser, alpha):
    make_dead_letter(alpha)
    job = make_job(alpha)
    client = browser(alpha, role="viewer")

    query = "?kind=dead_letters&action=retry&q=once"
    assert client.get(f"/bulk-jobs/new{query}").status_code == 403
    assert client.post("/bulk-jobs/create").status_code == 403
    assert client.post(f"/bulk-jobs/{job.pk}/cancel").status_code == 403
    assert f"/bulk-jobs/{job.pk}/cancel" not in client.get(f"/bulk-jobs/{job.pk}").text


def test_deleting_tasks_in_bulk_needs_the_role_admin(browser, alpha):
    make_task(alpha, daily())
    client = browser(alpha, role="operator")

    assert client.get("/bulk-jobs/new?kind=tasks&action=delete&q=daily").status_code == 403
    refused = created(client, "delete", "tasks", filters={"q": "daily"}, typed="1")
    assert refused == "Changing or deleting tasks needs the role admin."
    assert not BulkJob.objects.exists()


def test_a_job_is_begun_with_options_and_named(browser, alpha):
    make_letters(alpha, 2)
    client = browser(alpha, role="operator")

    message = created(
        client,
        count=2,
        name="Incident 7",
        rate_per_second="5",
        canary="1",
        stop_on_failure_percent="10",
    )

    job = BulkJob.objects.get()
    assert message.startswith("Requested.")
    assert (job.total, job.name, job.created_by) == (2, "Incident 7", user_of(client))
    assert job.options == {"rate_per_second": 5.0, "canary": 1, "stop_on_failure_rate": 0.1}
    assert audited(alpha) == [("bulk_job.created", user_of(client))]


def test_what_the_page_puts_into_its_form_is_understood(browser, alpha):
    execution = make_execution(alpha, "FAILED")
    client = browser(alpha)
    since = "2026-01-01T00:00:00Z"
    query = f"kind=executions&action=retry&status=FAILED&since={since}&ids={execution.pk}"

    shown = client.get(f"/bulk-jobs/new?{query}").context

    created(client, "retry", "executions", shown["scope"].count, filters=shown["filters_text"])
    filters = BulkJob.objects.get().filters
    assert (filters["status"], filters["ids"]) == (["FAILED"], [str(execution.pk)])


def test_a_scope_that_changed_in_between_is_a_message(browser, alpha):
    make_letters(alpha, 2)

    message = created(browser(alpha), count=1)

    assert message.startswith("2 rows match now, not 1")
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize("typed", ["", "2", "one", " 1 1"])
@pytest.mark.parametrize(("kind", "verb"), [("dead_letters", "purge"), ("tasks", "delete")])
def test_what_cannot_be_undone_demands_the_count(browser, alpha, kind, verb, typed):
    make_dead_letter(alpha)
    client = browser(alpha)

    assert created(client, verb, kind, typed=typed) == "Type 1 to continue. Nothing was changed."
    assert not BulkJob.objects.exists()
    assert created(client, verb, kind, typed=" 1 ").startswith("Requested.")


def test_many_rows_demand_the_count_too(browser, alpha, monkeypatch):
    monkeypatch.setattr(views, "TYPED_FROM", 1)
    make_letters(alpha, 2)
    client = browser(alpha)

    assert 'name="typed"' in client.get("/bulk-jobs/new?kind=dead_letters&action=retry&q=once").text
    assert created(client, count=2) == "Type 2 to continue. Nothing was changed."
    assert created(client, count=2, typed="2").startswith("Requested.")


@pytest.mark.parametrize(
    "fields",
    [
        {"verb": "sing"},
        {"kind": "users"},
        {"filters": "{}"},
        {"filters": ""},
        {"filters": "[]"},
        {"filters": "null"},
        {"filters": "{"},
        {"filters": {"q": ["a"]}},
        {"filters": {"q": "a\0b"}},
        {"filters": {"ids": 5}},
        {"filters": {"ids": [[1]]}},
        {"filters": {"task": "x"}},
        {"filters": {"resolved": True}},
        {"count": "x"},
        {"count": "9" * 5000},
        {"rate_per_second": "nan"},
        {"rate_per_second": "inf"},
        {"rate_per_second": "0"},
        {"canary": "1.5"},
        {"stop_on_failure_percent": "101"},
        {"stop_on_failure_percent": "1e999"},
        {"name": "a\0b"},
        {"name": "x" * 201},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_a_damaged_form_is_a_message_and_begins_nothing(browser, alpha, fields):
    make_dead_letter(alpha)

    assert created(browser(alpha), **fields)
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize(
    "query",
    [
        "", "kind=x&action=retry&q=a", "kind=tasks&action=retry&q=a", "kind=tasks&action=run",
        "kind=dead_letters&action=retry&ids=x", "kind=executions&action=retry&status=NONE",
        "kind=executions&action=retry&since=yesterday", "kind=tasks&action=run&type=x",
        "kind=tasks&action=run&q=%00", "kind=dead_letters&action=retry&task=x",
    ],
)  # fmt: skip
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    assert browser(alpha).get(f"/bulk-jobs/new?{query}").status_code == 400


def test_a_form_sent_twice_begins_one_job(browser, alpha):
    make_dead_letter(alpha)
    client = browser(alpha)
    fields = {
        "kind": "dead_letters",
        "action": "retry",
        "expected_count": "1",
        "filters": '{"q":"once"}',
    }

    for _ in range(2):
        assert client.post("/bulk-jobs/create", {**fields, "form_key": "k"}).status_code == 302

    assert BulkJob.objects.count() == 1


def test_a_jobs_page_shows_progress_and_what_was_skipped(browser, alpha):
    letters = make_letters(alpha, 3)
    job = make_job(alpha, "archive")
    client = browser(alpha)
    said(client, f"/dead-letters/{letters[0].pk}/archive")
    waiting = client.get(f"/bulk-jobs/{job.pk}")

    run_job(job)
    done = client.get(f"/bulk-jobs/{job.pk}")

    assert "waits for a system worker" in waiting.text
    assert f"/bulk-jobs/{job.pk}/cancel" in waiting.text
    assert (done.context["job"]["done"], done.context["job"]["skipped"]) == (2, 1)
    assert f'href="/dead-letters/{letters[0].pk}"' in done.text
    assert f"/bulk-jobs/{job.pk}/cancel" not in done.text


def test_a_job_is_cancelled_by_its_button(browser, alpha):
    make_letters(alpha, 2)
    job, client = make_job(alpha), browser(alpha, role="operator")

    assert said(client, f"/bulk-jobs/{job.pk}/cancel") == "Cancelled. Finished rows stay done."
    job.refresh_from_db()
    assert (job.status, job.skipped_count) == ("CANCELLED", 2)
    assert audited(alpha) == [("bulk_job.cancelled", user_of(client))]
    assert "already" in said(client, f"/bulk-jobs/{job.pk}/cancel")


def test_other_tenants_jobs_are_not_there(browser, alpha, beta):
    make_dead_letter(beta)
    job, client = make_job(beta), browser(alpha)

    assert client.get("/bulk-jobs").context["rows"] == []
    assert client.get(f"/bulk-jobs/{job.pk}").status_code == 404
    assert "no such" in said(client, f"/bulk-jobs/{job.pk}/cancel")
    assert client.get(f"/bulk-jobs/{uuid4()}").status_code == 404


def test_an_empty_list_says_what_belongs_here(browser, alpha):
    assert "No bulk jobs yet" in browser(alpha).get("/bulk-jobs").text


def test_hostile_text_is_shown_as_text(browser, alpha):
    make_dead_letter(alpha, once(name=HOSTILE))
    client = browser(alpha)
    query = {"kind": "dead_letters", "action": "retry", "q": HOSTILE}

    assert is_escaped(client.get("/bulk-jobs/new", query))
    created(client, name=HOSTILE, filters={"q": HOSTILE})
    job = BulkJob.objects.get()
    assert is_escaped(client.get("/bulk-jobs"))
    assert is_escaped(client.get(f"/bulk-jobs/{job.pk}"))


@pytest.mark.parametrize("path", ["/bulk-jobs?cursor=x", "/bulk-jobs?limit=x"])
def test_a_bad_place_in_the_list_is_400(browser, alpha, path):
    assert browser(alpha).get(path).status_code == 400


def test_a_page_of_jobs_costs_the_same_for_one_row_and_for_twenty(browser, alpha):
    client = browser(alpha)
    make_dead_letter(alpha)
    make_job(alpha, "archive")
    for_one = queries_for(client, "/bulk-jobs")
    for _ in range(19):
        make_job(alpha, "archive")

    assert queries_for(client, "/bulk-jobs") == for_one <= 10


def test_fields_of_chosen_tasks_are_set(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha, role="admin")

    page = client.get(f"/bulk-jobs/new?kind=tasks&action=set&ids={task.pk}")
    said = created(client, "set", "tasks", filters={"ids": [str(task.pk)]}, set='{"priority": 2}')

    assert 'name="set"' in page.text
    assert "Requested." in said
    assert BulkJob.objects.get().options == {"set": {"priority": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "Give the fields to set"),
        ('{"prioritty": 2}', "There is no such field"),
    ],
)
def test_what_cannot_be_set_is_a_message(browser, alpha, text, message):
    make_task(alpha, daily())

    assert message in created(browser(alpha), "set", "tasks", filters={"q": "daily"}, set=text)
    assert not BulkJob.objects.exists()


def test_setting_needs_the_role_admin(browser, alpha):
    make_task(alpha, daily())
    client = browser(alpha, role="operator")

    assert client.get("/bulk-jobs/new?kind=tasks&action=set&q=daily").status_code == 403
    assert "Change…" not in client.get("/tasks").text


def test_a_stopped_retry_says_what_came_of_what_it_made(browser, alpha):
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2))
    end_retries("FAILED")
    let_time_pass(job)
    run_job(job)

    text = browser(alpha).get(f"/bulk-jobs/{job.pk}").text

    assert "Stopped: too many of the executions that it made failed." in text
    assert "2 of 2 ended" in text
    assert '<b data-number="made.failed">2</b><span>failed</span>' in text


def test_a_backfill_is_not_completed_while_its_executions_wait(browser, alpha):
    task = make_task(alpha, minutely())
    job = run_job(make_backfill(task))
    client = browser(alpha)

    for path in (f"/bulk-jobs/{job.pk}", "/bulk-jobs"):
        text = client.get(path).text
        assert "made, not all ended" in text
        assert ">completed<" not in text
    Execution.objects.filter(series_id=job.pk).update(
        status="SUCCEEDED", finished_at=job.created_at, held=False, gated=False
    )
    assert ">completed<" in client.get(f"/bulk-jobs/{job.pk}").text


def test_what_has_only_begun_is_no_success(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    text = client.post(f"/tasks/{task.pk}/run", {"next": "/"}, follow=True).text

    assert '<p class="flash info" role="status">Run requested. Its state is below.</p>' in text
    assert 'class="flash success"' not in text
