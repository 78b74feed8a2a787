from __future__ import annotations

import pytest

from executions.models import BulkJob, Execution
from tests.executions.bulk.bulk import run_job
from tests.factories import make_execution
from tests.support.command_calls import call
from tests.support.command_documents import read_document

RANGE = ("--since", "1d", "--until", "2099-01-01T00:00:00Z")


def test_a_range_is_counted_and_made_into_a_job(alpha):
    make_execution(alpha, "SUCCEEDED")

    dry = call("executions", "replay", *RANGE, "--dry-run", "--json")
    said = call("executions", "replay", *RANGE, "--rate", "5/s", "--yes", "--detach", "--json")

    assert read_document("executions-replay", dry.out)["scope"]["count"] == 1
    document = read_document("executions-replay", said.out)
    job = BulkJob.objects.get()
    assert (document["bulk_job"]["id"], job.action) == (str(job.id), "replay")
    assert job.options == {"rate_per_second": 5.0}


def test_a_replay_says_from_when_to_when(alpha):
    assert call("executions", "replay", "--since", "1d", "--yes").code == 2
    assert call("executions", "replay", "--until", "1d", "--yes").code == 2
    assert not BulkJob.objects.exists()


def test_a_range_is_replayed_into_another_place(alpha):
    row = make_execution(alpha, "SUCCEEDED")
    place = ("--into-url", "https://staging.example.com/in")

    dry = call("executions", "replay", *RANGE, *place, "--dry-run", "--json")
    call("executions", "replay", *RANGE, *place, "--yes", "--detach")

    assert read_document("executions-replay", dry.out)["scope"]["unfit"] == 0
    job = run_job(BulkJob.objects.get())
    # The rest of the URL is sealed.
    assert job.options["into"] == {"origin": "https://staging.example.com"}
    again = Execution.objects.get(parent_id=row.id)
    assert place[1] in call("executions", "show", str(again.id)).out
    shown = call("executions", "show", str(again.id), "--json")
    assert read_document("executions-show", shown.out)["into"] == {"url": place[1]}


@pytest.mark.parametrize(
    "place",
    [
        ("--into-url", "https://127.0.0.1/"),
        ("--into-pool", "No Pool"),
        ("--into-pool", "a", "--into-url", "https://staging.example.com/"),
        # What ran is a webhook.
        ("--into-pool", "staging"),
    ],
)
def test_a_place_that_nothing_can_go_into_is_refused(alpha, place):
    make_execution(alpha, "SUCCEEDED")

    refused = call("executions", "replay", *RANGE, *place, "--yes")

    assert refused.code == 2
    assert "--into-" in refused.err
    assert not BulkJob.objects.exists()
