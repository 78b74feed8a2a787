from __future__ import annotations

from uuid import uuid4

from executions.bulk.jobs import cancel_bulk_job
from insight.presentation.bulk_jobs import present_bulk_job
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import make_job, run_job
from tests.factories import ACTOR, ApiClient, make_client, make_dead_letter
from tests.support.letters import make_letters


def test_a_job_shows_its_progress(client: ApiClient, viewer: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)
    job = run_job(make_job(alpha))

    shown = viewer.get(f"/v1/bulk-jobs/{job.id}").json()

    assert shown["results"] == []
    assert shown["pagination"]["total"] == 0
    assert {name: shown[name] for name in present_bulk_job(job)} == present_bulk_job(job)


def test_results_are_what_was_not_done_page_by_page(client: ApiClient, alpha: Tenant):
    letters = make_letters(alpha, 3)
    job = make_job(alpha)
    cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    first = client.get(f"/v1/bulk-jobs/{job.id}?limit=2").json()
    cursor = first["pagination"]["next_cursor"]
    second = client.get(f"/v1/bulk-jobs/{job.id}?limit=2&cursor={cursor}").json()

    results = [*first["results"], *second["results"]]
    assert [row["id"] for row in results] == [str(letter.id) for letter in letters]
    assert {(row["outcome"], row["code"]) for row in results} == {("skipped", "job_cancelled")}
    assert second["pagination"]["next_cursor"] is None


def test_an_unknown_job_is_404(client: ApiClient):
    assert problem(client.get(f"/v1/bulk-jobs/{uuid4()}")) == (404, "not_found")


def test_another_tenants_job_is_404(stranger: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)
    job = make_job(alpha)

    assert problem(stranger.get(f"/v1/bulk-jobs/{job.id}")) == (404, "not_found")


def test_reading_needs_the_scope_read(alpha: Tenant, nobody: ApiClient):
    make_dead_letter(alpha)
    job = make_job(alpha)
    others = make_client(alpha, ["operate"])

    assert problem(nobody.get(f"/v1/bulk-jobs/{job.id}")) == (401, "not_authenticated")
    assert problem(others.get(f"/v1/bulk-jobs/{job.id}")) == (403, "forbidden")
