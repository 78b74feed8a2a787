from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from executions.models import BulkJob
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import counts, make_job, run_job
from tests.factories import ApiClient, make_client, make_dead_letter


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


def test_unknown_and_other_tenants_jobs_are_404(
    client: ApiClient, stranger: ApiClient, job: BulkJob
):
    assert problem(cancel(client, uuid4())) == (404, "not_found")
    assert problem(cancel(stranger, job.id)) == (404, "not_found")
    assert run_job(job).status == "COMPLETED"


def test_cancelling_needs_the_scope_operate(alpha: Tenant, viewer: ApiClient, job: BulkJob):
    assert problem(cancel(viewer, job.id)) == (403, "forbidden")
    assert cancel(make_client(alpha, ["operate"]), job.id).status_code == 202
