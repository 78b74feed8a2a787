from __future__ import annotations

import pytest

from executions.models import BulkJob
from tenants.models import Tenant
from tests.operations.commands.letters_of import make_letters, work_while_waiting
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(alpha: Tenant) -> BulkJob:
    make_letters(alpha, 2)
    assert call("dlq", "archive", "--all", "--yes", "--detach").code == 0
    return BulkJob.objects.get()


def test_list_shows_jobs_by_tenant_and_state(job: BulkJob, beta: Tenant):
    everything = read_document("bulk-list", call("bulk", "list", "--json").out)
    other = read_document("bulk-list", call("bulk", "list", "--tenant", "Beta", "--json").out)
    running = call("bulk", "list", "--status", "RUNNING", "--json").out

    assert [item["id"] for item in everything["bulk_jobs"]] == [str(job.id)]
    assert other["bulk_jobs"] == read_document("bulk-list", running)["bulk_jobs"] == []
    lines = call("bulk", "list").out.splitlines()
    assert "0/0/0 of 2" in lines[1]
    assert all(len(line) <= 80 for line in lines)


def test_show_finds_a_job_by_the_end_of_its_id(job: BulkJob):
    said = call("bulk", "show", str(job.id)[-12:], "--json")
    document = read_document("bulk-show", said.out)

    assert (document["status"], document["total"], document["remaining"]) == ("PENDING", 2, 2)
    assert "archive dead_letters (2)" in call("bulk", "show", str(job.id)).out
    assert call("bulk", "show", "0" * 12).code == 3


def test_following_waits_for_the_end(job: BulkJob, monkeypatch: pytest.MonkeyPatch):
    work_while_waiting(monkeypatch)

    said = call("bulk", "show", str(job.id), "--follow")

    assert said.code == 0
    assert "done 2, skipped 0, failed 0" in said.out


def test_a_cancelled_job_is_asked_about_once_and_stays_so(job: BulkJob):
    assert call("bulk", "cancel", str(job.id)).code == 2
    said = call("bulk", "cancel", str(job.id), "--yes", "--json")

    document = read_document("bulk-cancel", said.out)
    assert (document["status"], document["skipped"]) == ("CANCELLED", 2)
    assert call("bulk", "cancel", str(job.id), "--yes").code == 4
