"""The rows of a list by its query, and the filters of a bulk job over all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.chosen_rows import acts_on_all, bulk_filters
from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem
from shared.exceptions import InvalidInput
from tests.factories import make_dead_letter, make_execution, once

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)


def test_the_window_of_executions_becomes_its_beginning():
    found = bulk_filters("executions", "status=FAILED&window=7d&columns=host&density=compact", NOW)

    assert found == {"status": ["FAILED"], "since": "2026-11-13T08:00:00.000Z"}
    assert bulk_filters("executions", "", NOW) == {"since": "2026-11-19T08:00:00.000Z"}
    assert bulk_filters("executions", "window=any", NOW) == {}


def test_looks_and_unknown_names_choose_nothing():
    assert bulk_filters("dead_letters", "view=letters&state=open&q=x&oops=1", NOW) == {"q": "x"}
    assert bulk_filters("tasks", "label=team&columns=host", NOW) == {"label": "team"}


def test_a_filter_of_what_a_job_knows_is_taken_over():
    found = bulk_filters("executions", "filter=status:failed scheduled:-1h&window=7d", NOW)

    assert found == {"status": ["FAILED"], "since": "2026-11-20T07:00:00.000Z"}
    later = bulk_filters(
        "executions",
        "filter=scheduled:-2h&since=2026-11-20T07:30:00Z&until=2026-11-21T00:00:00Z",
        NOW,
    )
    assert later["since"] == "2026-11-20T07:30:00.000Z"
    assert bulk_filters("tasks", "filter=label:team&label=team", NOW) == {"label": "team"}
    assert acts_on_all("executions", "filter=status:failed", NOW)
    assert not acts_on_all("executions", "filter=http:5xx", NOW)


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("executions", "filter=http:5xx"),
        ("executions", "filter=oops:1"),
        ("executions", "ordering=-delay"),
        ("tasks", "ordering=next_run_at"),
        ("executions", "filter=status:failed&status=QUEUED"),
        ("dead_letters", "resolution=fixed"),
        ("executions", "due=now"),
        ("executions", "concurrency_key=x"),
        ("executions", "status=OOPS"),
        ("tasks", "destination=example.com"),
        ("dead_letters", "state=archived"),
        ("occurrences", ""),
    ],
)
def test_what_a_bulk_job_cannot_choose_by_is_refused(kind, query):
    with pytest.raises(InvalidInput):
        bulk_filters(kind, query, NOW)


def test_all_that_match_are_counted_and_taken(browser, alpha, beta):
    for tenant in (alpha, alpha, beta):
        make_execution(tenant, "FAILED")
    make_execution(alpha, "FAILED", once(database_now() - timedelta(hours=2)))
    make_execution(alpha, "SUCCEEDED")
    client = browser(alpha)

    count = client.get("/bulk-jobs/count?kind=executions&query=status%3DFAILED%26window%3D1h")
    ticked = "kind=executions&action=retry&all=1&query=status%3DFAILED%26window%3D1h"
    page = client.get(f"/bulk-jobs/new?{ticked}&ids=00000000-0000-4000-8000-000000000000")

    assert (count.status_code, count.text) == (200, "2")
    assert page.context["scope"].count == 2
    sent = {
        "kind": "executions",
        "action": "retry",
        "filters": page.context["filters_text"],
        "expected_count": "2",
    }
    done = client.post("/bulk-jobs/create", sent)
    assert done.status_code == 302
    assert "/bulk-jobs/" in done["Location"]


def test_a_job_over_all_rows_needs_no_filter(browser, alpha):
    letter = make_dead_letter(alpha)
    client = browser(alpha)

    page = client.get("/bulk-jobs/new?kind=dead_letters&action=archive&all=1&query=")
    sent = {"kind": "dead_letters", "action": "archive", "filters": "{}", "expected_count": "1"}
    client.post("/bulk-jobs/create", sent)
    assert not BulkJob.objects.exists()
    client.post("/bulk-jobs/create", {**sent, "all": "1"})

    assert (page.context["filters_text"], page.context["scope"].count) == ("{}", 1)
    assert 'name="all" value="1"' in page.text
    assert list(BulkJobItem.objects.values_list("item_id", flat=True)) == [letter.pk]


def test_a_count_is_for_operators(browser, alpha):
    path = "/bulk-jobs/count?kind=tasks"

    assert browser(alpha, role="viewer").get(path).status_code == 403
    assert browser(alpha, role="operator").get(path).text == "0"
    assert browser(alpha).get("/bulk-jobs/count?kind=oops").status_code == 400
