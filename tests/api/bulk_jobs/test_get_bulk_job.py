from __future__ import annotations

from executions.bulk.jobs import cancel_bulk_job
from insight.presentation.bulk_jobs import present_bulk_job
from tenants.models import Tenant
from tests.executions.bulk.bulk import make_job, run_job
from tests.factories import ACTOR, ApiClient, make_dead_letter
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
