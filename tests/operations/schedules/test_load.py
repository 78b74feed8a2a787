from __future__ import annotations

import pytest

from executions.models import BulkJob
from shared.instants import format_instant
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import daily, make_task, reload
from tests.support.command_calls import call
from tests.support.command_documents import read_document


@pytest.fixture
def tasks(alpha):
    return [make_task(alpha, daily(name=f"Report {number}")) for number in range(6)]


@pytest.fixture
def at(tasks):
    return format_instant(tasks[0].next_run_at)


def test_the_busiest_hours_and_hot_minutes_are_listed(tasks, at):
    said = call("schedule", "forecast")

    assert said.code == 0
    assert said.out.startswith("42 starts of 6 tasks from ")
    assert f"{at}  6       6      6        Report" in said.out
    assert tasks[0].destination in said.out
    assert f"manage.py schedule spread {at}" in said.err


@pytest.mark.parametrize("resolution", ["minute", "hour"])
def test_the_document_keeps_its_schema(tasks, resolution):
    said = call("schedule", "forecast", "--days", "1", "--resolution", resolution, "--json")

    document = read_document("schedule-forecast", said.out)
    assert (document["starts"], document["resolution"]) == (6, resolution)


def test_destination_label_and_beginning_choose(tasks):
    for words in (("--destination", "nowhere:1"), ("--label", "team:sales")):
        assert call("schedule", "forecast", *words).out.startswith("0 starts of 0 tasks")
    later = call("schedule", "forecast", "--since", "24h", "--days", "1", "--json")
    assert read_document("schedule-forecast", later.out)["starts"] == 6


def test_a_partial_forecast_says_so(tasks, monkeypatch):
    monkeypatch.setattr("insight.forecast.load.MOST_WALKED", 0)

    assert "0 of 6 tasks are counted" in call("schedule", "forecast").err


@pytest.mark.parametrize("words", [("--since", "someday"), ("--tenant", "No")])
def test_wrong_use_of_the_forecast_is_refused(tasks, words):
    assert call("schedule", "forecast", *words).code in (2, 3)


def test_a_dry_run_says_how_many_would_be_spread(tasks, at):
    said = call("schedule", "spread", at, "--dry-run", "--json")

    document = read_document("schedule-spread", said.out)
    assert (document["plan"]["tasks"], document["bulk_job"]) == (6, None)
    assert document["plan"]["jitter_seconds"] == 300
    assert not BulkJob.objects.exists()


def test_a_minute_is_spread_by_a_bulk_job(tasks, at):
    said = call("schedule", "spread", at, "--jitter", "120", "--yes", "--detach", "--json")

    document = read_document("schedule-spread", said.out)
    job = run_job(BulkJob.objects.get(pk=document["bulk_job"]["id"]))
    assert "6 tasks at" in said.err
    assert counts(job) == (6, 0, 0)
    assert reload(tasks[0]).schedule["jitter_seconds"] == 120


def test_nobody_is_asked_without_a_terminal(tasks, at):
    assert call("schedule", "spread", at).code == 2
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("2020-01-01T00:00:00Z",), "AT: "),
        (("soon",), "AT: "),
        (("AT", "--jitter", "99999"), ""),
    ],
)
def test_wrong_use_of_spread_is_refused(tasks, at, words, message):
    given = [at if word == "AT" else word for word in words]

    said = call("schedule", "spread", *given, "--yes", "--detach")

    assert (said.code, message in said.err) == (2, True)
    assert not BulkJob.objects.exists()


def test_a_minute_without_tasks_has_nothing_to_spread(alpha):
    said = call("schedule", "spread", "3h", "--yes")

    assert (said.code, "0 tasks" in said.out) == (0, True)
