from __future__ import annotations

import pytest

from executions.changes import changing
from executions.models import BulkJob, Execution
from operations.bulk import runs
from shared.actor import COMMAND
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.bulk.backfills import HOUR, minutely
from tests.factories import ACTOR, make_task
from tests.operations.commands.letters_of import work_while_waiting
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db

RANGE = ("--since", format_instant(HOUR.start), "--until", format_instant(HOUR.end))


@pytest.fixture
def task(alpha: Tenant) -> Task:
    return make_task(alpha, minutely())


def test_the_plan_is_shown_before_anything_is_done(task: Task):
    said = call("tasks", "backfill", str(task.id)[-12:], *RANGE, "--dry-run")

    assert said.code == 0
    assert said.out == (
        "61 occurrences of Daily report, first 2026-03-02 10:00:00, last 2026-03-02 11:00:00 UTC\n"
        "at most 10 at a time\n"
    )
    assert not BulkJob.objects.exists()


def test_the_plan_as_a_document(task: Task):
    said = call("tasks", "backfill", str(task.id), *RANGE, "--dry-run", "--json")

    document = read_document("tasks-backfill", said.out)
    assert (document["plan"]["count"], document["bulk_job"]) == (61, None)


def test_it_is_followed_until_all_is_made(task: Task, monkeypatch: pytest.MonkeyPatch):
    work_while_waiting(monkeypatch)

    said = call("tasks", "backfill", str(task.id), *RANGE, "--yes", "--name", "Incident 7")

    job = BulkJob.objects.get()
    told = "done 61, skipped 0, failed 0; of the executions made: pending 61"
    assert (said.code, said.out) == (0, f"bulk job {job.id}\n{told}\n")
    assert (job.name, job.created_by) == ("Incident 7", COMMAND.name)
    assert Execution.objects.filter(series_id=job.id).count() == 61
    assert f"manage.py bulk show {job.id}" in said.err


def test_a_person_is_asked_with_the_plan_before_their_eyes(
    task: Task, monkeypatch: pytest.MonkeyPatch
):
    work_while_waiting(monkeypatch)

    type_in(monkeypatch, "n\n")
    refused = call("tasks", "backfill", str(task.id), *RANGE)
    assert not BulkJob.objects.exists()
    type_in(monkeypatch, "y\n")
    said = call("tasks", "backfill", str(task.id), *RANGE, "--quiet")

    assert (refused.code, said.code) == (1, 0)
    assert said.err.startswith("61 occurrences of Daily report, ")


def test_very_many_want_the_count_typed(task: Task, monkeypatch: pytest.MonkeyPatch):
    work_while_waiting(monkeypatch)
    monkeypatch.setattr(runs, "TYPED_FROM", 61)

    type_in(monkeypatch, "y\n")
    assert call("tasks", "backfill", str(task.id), *RANGE).code == 1
    type_in(monkeypatch, "61\n")
    assert call("tasks", "backfill", str(task.id), *RANGE).code == 0


def test_detached_it_returns_at_once_with_the_job(task: Task):
    said = call(
        "tasks", "backfill", str(task.id), *RANGE, "--yes", "--detach", "--json",
        "--max-parallel", "3",
    )  # fmt: skip

    document = read_document("tasks-backfill", said.out)
    job = BulkJob.objects.get()
    assert document["bulk_job"]["id"] == str(job.id)
    assert job.options == {"max_parallel": 3, "overlap_policy": "allow"}


def test_one_after_the_other(task: Task):
    said = call("tasks", "backfill", str(task.id), *RANGE, "--overlap", "queue_all", "--dry-run")

    assert "at most 1 at a time" in said.out


def test_the_range_may_be_told_as_an_age(task: Task):
    said = call("tasks", "backfill", str(task.id), "--since", "2h", "--dry-run", "--json")

    assert read_document("tasks-backfill", said.out)["plan"]["count"] in (120, 121)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--since", "in a fog"), "--since"),
        (("--since", "2h", "--until", "3h"), "--until"),
        (("--since", "2h", "--max-parallel", "0"), "--max-parallel"),
        (("--since", "2h", "--max-parallel", "2", "--overlap", "queue_all"), "--max-parallel"),
    ],
)
def test_what_cannot_be_is_said_of_its_option(task: Task, words: tuple[str, ...], option: str):
    said = call("tasks", "backfill", str(task.id), *words, "--yes")

    assert said.code == 2
    assert option in said.err
    assert not BulkJob.objects.exists()


def test_a_cancelled_task_is_a_conflict_and_an_unknown_one_is_not_found(alpha: Tenant, task: Task):
    changing.cancel_task(alpha.id, task.id, actor=ACTOR)

    assert call("tasks", "backfill", str(task.id), *RANGE, "--yes").code == 4
    assert call("tasks", "backfill", "f" * 12, *RANGE, "--yes").code == 3


def test_show_tells_how_far_the_executions_are(task: Task, monkeypatch: pytest.MonkeyPatch):
    work_while_waiting(monkeypatch)
    call("tasks", "backfill", str(task.id), *RANGE, "--yes")
    job = BulkJob.objects.get()

    assert "made     pending 61" in call("bulk", "show", str(job.id)).out
    document = read_document("bulk-show", call("bulk", "show", str(job.id), "--json").out)
    assert document["executions"]["pending"] == 61
    assert call("bulk", "cancel", str(job.id), "--yes").code == 0
    assert "made     cancelled 61" in call("bulk", "show", str(job.id)).out
    listed = read_document("bulk-list", call("bulk", "list", "--json").out)
    assert listed["bulk_jobs"][0]["kind"] == "occurrences"
