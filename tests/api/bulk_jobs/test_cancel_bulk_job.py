from __future__ import annotations

from typing import Any

import pytest

from executions.models import BulkJob
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import counts, make_job, run_job
from tests.factories import ApiClient, make_dead_letter


@pytest.fixture
def job(alpha: Tenant) -> BulkJob:
    make_dead_letter(alpha)
    return make_job(alpha)


def cancel(client: ApiClient, job_id: Any, body: Any = None) -> Any:
    return client.post(f"/v1/bulk-jobs/{job_id}/cancel", body)


def test_a_cancelled_job_skips_the_rest(client: ApiClient, job: BulkJob):
    answer = cancel(client, job.id)

    assert answer.status_code == 202
    assert answer["Location"] == f"/v1/bulk-jobs/{job.id}"
    shown = answer.json()
    assert (shown["status"], shown["skipped"], shown["remaining"]) == ("CANCELLED", 1, 0)
    assert counts(run_job(job)) == (0, 1, 0)


def test_an_ended_job_is_409(client: ApiClient, job: BulkJob):
    run_job(job)

    assert problem(cancel(client, job.id)) == (409, "already_final")


def test_a_body_is_refused(client: ApiClient, job: BulkJob):
    assert cancel(client, job.id, {"note": "x"}).status_code == 400
