from __future__ import annotations

from insight.presentation.bulk_jobs import present_bulk_job
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import make_job, run_job
from tests.factories import ApiClient, make_dead_letter

URL = "/v1/bulk-jobs"


def test_jobs_are_listed_newest_first(client: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)
    first, second = make_job(alpha, "archive"), make_job(alpha)

    shown = client.get(URL).json()

    assert shown["bulk_jobs"] == [present_bulk_job(second), present_bulk_job(first)]
    assert shown["pagination"]["total"] == 2
    one = client.get(f"{URL}?limit=1&ordering=created_at").json()
    assert [job["id"] for job in one["bulk_jobs"]] == [str(first.id)]
    rest = client.get(
        f"{URL}?limit=1&ordering=created_at&cursor={one['pagination']['next_cursor']}"
    )
    assert [job["id"] for job in rest.json()["bulk_jobs"]] == [str(second.id)]


def test_jobs_are_found_by_state(client: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)
    job = run_job(make_job(alpha))

    assert client.get(f"{URL}?status=PENDING,RUNNING").json()["bulk_jobs"] == []
    assert client.get(f"{URL}?status=COMPLETED").json()["bulk_jobs"] == [present_bulk_job(job)]
    assert problem(client.get(f"{URL}?status=DONE")) == (400, "invalid")


def test_another_tenants_jobs_are_not_listed(stranger: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)
    make_job(alpha)

    assert stranger.get(URL).json()["bulk_jobs"] == []
