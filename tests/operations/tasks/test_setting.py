from __future__ import annotations

import json

import pytest

from executions.models import BulkJob
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import daily, make_task, once, reload
from tests.support.command_calls import call
from tests.support.command_documents import read_document

JITTER = ("--set", "schedule.jitter_seconds=60")
AT_ONCE = ("--yes", "--detach", "--json")


def test_fields_of_a_label_are_set(alpha):
    task, other = make_task(alpha), make_task(alpha, daily(labels={}))

    said = call("tasks", "set", "--of-label", "team:billing", *JITTER, *AT_ONCE)

    document = read_document("tasks-set", said.out)
    job = run_job(BulkJob.objects.get(pk=document["bulk_job"]["id"]))
    assert counts(job) == (1, 0, 0)
    assert reload(task).schedule["jitter_seconds"] == 60
    assert reload(other).version == 1


def test_tasks_of_an_owner_get_another(alpha):
    task = make_task(alpha, daily(owner="ops@example.com"))
    make_task(alpha)

    said = call(
        *("tasks", "set", "--of-owner", "ops@example.com", "--owner", "it@example.com"), *AT_ONCE
    )

    document = read_document("tasks-set", said.out)
    job = run_job(BulkJob.objects.get(pk=document["bulk_job"]["id"]))
    assert (counts(job), reload(task).owner) == ((1, 0, 0), "it@example.com")


def test_a_dry_run_shows_the_scope(alpha):
    make_task(alpha, once())
    make_task(alpha)

    said = call("tasks", "set", "--of-type", "ONE_TIME", "--priority", "1", "--dry-run", "--json")

    document = read_document("tasks-set", said.out)
    assert (document["scope"]["count"], document["bulk_job"]) == (1, None)
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize("which", [("--all",), ("--q", "Daily"), ("--of-status", "SCHEDULED")])
def test_filters_say_which_tasks_are_set(alpha, which):
    make_task(alpha)

    assert call("tasks", "set", *which, "--priority", "1", "--yes", "--detach").code == 0
    assert BulkJob.objects.get().total == 1


def test_ids_choose_and_a_rate_slows_down(alpha):
    task = make_task(alpha)

    call("tasks", "set", str(task.id)[-12:], "--priority", "1", "--rate", "5/s", *AT_ONCE)

    job = BulkJob.objects.get()
    assert job.options == {"rate_per_second": 5.0, "set": {"priority": 1}}
    assert job.filters == {"ids": [str(task.id)]}


def test_a_file_says_what_to_set(alpha, tmp_path):
    make_task(alpha)
    path = tmp_path / "patch.json"
    path.write_text(json.dumps({"retry_policy": {"max_attempts": 2}}))

    call("tasks", "set", "--all", "--file", str(path), *AT_ONCE)

    assert BulkJob.objects.get().options["set"] == {"retry_policy": {"max_attempts": 2}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--all",), "say what to change"),
        (JITTER, "say which"),
        (("--all", "--q", "x", *JITTER), "say which"),
        (("ID", "--all", *JITTER), "not both"),
        (("--all", "--set", "schedule.jiter=1"), "schedule.jiter: There is no such field"),
        (("--all", "--priority", "11"), "--priority: "),
        (("--all", "--set", 'status="PAUSED"'), "status: Use the actions"),
    ],
)
def test_wrong_use_is_refused(alpha, words, message):
    task = make_task(alpha)
    given = [str(task.id) if word == "ID" else word for word in words]

    said = call("tasks", "set", *given, "--yes", "--detach")

    assert (said.code, message in said.err) == (2, True)
    assert not BulkJob.objects.exists()


def test_tasks_of_several_tenants_are_set_apart(alpha, beta):
    ids = [str(make_task(tenant).id) for tenant in (alpha, beta)]

    assert "several tenants" in call("tasks", "set", *ids, *JITTER).err
