from __future__ import annotations

from uuid import uuid4

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem
from tests.support.admin import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(alpha) -> BulkJob:
    now = database_now()
    made = BulkJob.objects.create(
        tenant=alpha,
        kind="dead_letters",
        action="retry",
        status="COMPLETED",
        total=2,
        done_count=1,
        failed_count=1,
        next_at=now,
        finished_at=now,
        created_by="test",
    )
    for position, outcome in enumerate(["done", "failed"]):
        BulkJobItem.objects.create(
            job=made,
            position=position,
            item_id=uuid4(),
            outcome=outcome,
            message=f"{outcome} <b>it</b>",
        )
    return made


def test_a_job_shows_what_it_could_not_do(browser, job):
    page = browser.page(job).content.decode()

    assert "failed &lt;b&gt;it" in page
    assert "done &lt;b&gt;it" not in page
    assert f'href="/bulk-jobs/{job.pk}"' in page


def test_a_job_without_a_name_is_called_by_what_it_does(browser, job):
    assert "retry dead letters" in text_of(browser.list(BulkJob))
