from __future__ import annotations

from executions.models import BulkJob
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
