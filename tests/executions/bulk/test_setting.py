from __future__ import annotations

from typing import Any

import pytest

from executions.bulk import sealed_options, verbs
from executions.bulk import setting as setting_of_many
from executions.bulk.setting import goes_together, masked, require_patch
from executions.models import BulkJob
from insight.presentation.bulk_jobs import present_bulk_job
from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.authority import OPERATOR
from tenants.services import change_quotas, create_api_key
from tests.executions.answers import audited
from tests.executions.bulk.bulk import counts, make_job, outcomes, run_job
from tests.executions.changes.changes import patch as edited
from tests.factories import (
    ACTOR,
    TARGET,
    daily,
    every_second,
    executions_of,
    make_task,
    once,
    prepare,
    release,
    reload,
    spoil,
)

pytestmark = pytest.mark.django_db


def setting(tenant: Any, patch: dict[str, Any], **filters: Any) -> BulkJob:
    return make_job(tenant, "set", "tasks", filters, set=patch)


def set_all(tenant: Any, patch: dict[str, Any]) -> BulkJob:
    return run_job(setting(tenant, patch))


def test_the_patch_is_merged_into_every_task(alpha):
    tasks = [make_task(alpha) for _ in range(2)]

    job = set_all(alpha, {"schedule": {"jitter_seconds": 30}, "priority": 2})

    assert counts(job) == (2, 0, 0)
    for task in tasks:
        found = reload(task)
        assert (found.version, found.priority) == (2, 2)
        assert (found.schedule["jitter_seconds"], found.schedule["cron_expression"]) == (
            30,
            "0 8 * * *",
        )
        assert audited(task.id, "task.updated")["actor"] == ACTOR.name


def test_an_owner_may_be_a_key_of_the_tenant(alpha):
    create_api_key(alpha, name="Billing", scopes=["read"], actor=ACTOR, by=OPERATOR)
    task = make_task(alpha)

    job = set_all(alpha, {"owner": "Billing"})
    unknown = set_all(alpha, {"owner": "Nobody"})

    assert (counts(job), outcomes(unknown)[0][0]) == ((1, 0, 0), "failed")
    assert reload(task).owner == "Billing"


def test_what_has_these_values_already_is_skipped(alpha):
    make_task(alpha, daily(priority=2))
    task = make_task(alpha)

    job = set_all(alpha, {"priority": 2})

    assert outcomes(job) == [("skipped", "unchanged"), ("done", "")]
    assert reload(task).version == 2


def test_a_task_that_cannot_take_it_fails_with_the_reason(alpha):
    recurring, one_time = make_task(alpha), make_task(alpha, once())

    job = set_all(alpha, {"schedule": {"end_at": "2199-01-01T00:00:00Z"}})

    assert counts(job) == (1, 0, 1)
    assert reload(recurring).schedule["end_at"] == "2199-01-01T00:00:00.000Z"
    failed = job.items.get(item_id=one_time.id)
    assert (failed.code, failed.message) == ("invalid", "A ONE_TIME task has no end_at.")
    assert reload(one_time).version == 1


def test_nothing_of_the_old_version_starts_afterwards(alpha):
    task = make_task(alpha, every_second())
    prepare()
    release()

    set_all(alpha, {"schedule": {"cron_expression": "0 8 * * *"}})

    assert reload(task).version == 2
    assert [row.status for row in executions_of(task, "QUEUED")] == []


def test_kept_secrets_do_not_follow_a_url_that_is_set_for_many(alpha):
    plain = make_task(alpha)
    secretive = make_task(alpha, daily(target={**TARGET, "headers": {"Cookie": "s3cret"}}))

    job = set_all(alpha, {"target": {"url": "https://b.example/"}})

    failed = job.items.get(item_id=secretive.id)
    assert (failed.outcome, failed.code) == ("failed", "secret_required")
    assert "Cookie" in failed.message
    assert (reload(plain).version, reload(secretive).version) == (2, 1)


def test_a_secret_that_is_set_with_the_url_goes_along(alpha):
    task = make_task(alpha, daily(target={**TARGET, "headers": {"Cookie": "s3cret"}}))

    job = set_all(alpha, {"target": {"url": "https://b.example/", "headers": {"cookie": "new"}}})

    assert counts(job) == (1, 0, 0)
    assert read_definition(reload(task)).target["headers"] == {"cookie": "new"}


def test_a_reference_that_is_set_is_sealed_and_an_owner_is_not(alpha):
    task = make_task(alpha)
    patch = {"payload_ref": "s3://bucket/key?sig=s3cr3t", "owner": "ops@example.com"}

    job = setting(alpha, patch)

    assert job.options["set"] == {"payload_ref": MASK, "owner": "ops@example.com"}
    assert "s3cr3t" not in str(audited(job.id, "bulk_job.created"))
    run_job(job)
    definition = read_definition(reload(task))
    assert (definition.payload, definition.sent) == (None, {"payload_ref": patch["payload_ref"]})


def test_payload_and_secret_headers_are_sealed(alpha):
    task = make_task(alpha)
    patch = {"payload": {"key": "s3cr3t"}, "target": {"headers": {"Authorization": "s3cr3t"}}}

    job = setting(alpha, patch)

    assert sealed_options.shown(job)["set"] == {
        "payload": MASK,
        "target": {"headers": {"Authorization": MASK}},
    }
    assert job.options["set"] == {"payload": MASK, "target": {"origin": ""}}
    assert b"s3cr3t" not in bytes(job.sealed_payload or b"")
    assert "s3cr3t" not in str(audited(job.id, "bulk_job.created"))
    run_job(job)
    definition = read_definition(reload(task))
    assert definition.payload == {"report": 1, "key": "s3cr3t"}
    assert definition.target["headers"] == {"Authorization": "s3cr3t"}


@pytest.mark.parametrize(
    ("patch", "together"),
    [
        ({"priority": 1, "labels": {"a": "b"}}, True),
        ({"target": {"url": "https://b.example/"}, "payload": None}, True),
        ({"schedule": {"jitter_seconds": 5}}, False),
        ({"priority": 1, "cron_expression": "0 8 * * *"}, False),
        ({"type": "ONE_TIME"}, False),
    ],
)
def test_only_what_leaves_the_instants_alone_is_set_together(patch, together):
    assert goes_together(patch) is together


def test_a_task_that_no_key_opens_is_skipped_and_the_others_are_set(alpha):
    tasks = [make_task(alpha) for _ in range(3)]
    spoil(tasks[1])

    job = set_all(alpha, {"priority": 1})

    assert outcomes(job) == [("done", ""), ("skipped", "decryption_failed"), ("done", "")]
    assert [reload(task).version for task in tasks] == [2, 1, 2]


def test_a_batch_whose_schedules_would_change_goes_task_by_task(alpha, monkeypatch):
    tasks = [make_task(alpha) for _ in range(2)]
    Task.objects.filter(pk=tasks[0].id).update(schedule={**tasks[0].schedule, "older": True})

    job = set_all(alpha, {"priority": 1})

    assert counts(job) == (2, 0, 0)
    assert [reload(task).priority for task in tasks] == [1, 1]
    assert "older" not in reload(tasks[0]).schedule


def test_an_edit_that_comes_in_between_is_kept(alpha, monkeypatch):
    tasks = [make_task(alpha) for _ in range(2)]
    lock = verbs.lock_tasks

    def lock_late(batch):
        if reload(tasks[0]).version == 1:
            edited(tasks[0], {"name": "Edited"})
        return lock(batch)

    monkeypatch.setattr(verbs, "lock_tasks", lock_late)

    job = set_all(alpha, {"priority": 1})

    assert counts(job) == (2, 0, 0)
    found = reload(tasks[0])
    assert (found.name, found.priority, found.version) == ("Edited", 1, 3)
    assert read_definition(found).name == "Edited"


@pytest.mark.parametrize(
    ("patch", "pointer", "code"),
    [
        (None, "#/set", "required"),
        ({}, "#/set", "required"),
        ([1], "#/set", "required"),
        ({"status": "PAUSED"}, "#/set/status", "not_supported"),
        ({"version": 3}, "#/set/version", "read_only"),
        ({"prioritty": 3}, "#/set/prioritty", "unknown_field"),
        ({"schedule": {"jiter_seconds": 3}}, "#/set/schedule/jiter_seconds", "unknown_field"),
        ({"schedule": {"jitter_seconds": -3}}, "#/set/schedule/jitter_seconds", "out_of_range"),
        ({"schedule": {"timezone": "Mars/Base"}}, "#/set/schedule/timezone", "timezone_unknown"),
        ({"priority": "high"}, "#/set/priority", "invalid_type"),
        ({"target": {"url": "http://127.0.0.1/"}}, "#/set/target/url", "address_forbidden"),
    ],
)
def test_a_patch_that_no_task_can_take_is_refused_at_once(alpha, patch, pointer, code):
    make_task(alpha)

    with pytest.raises(InvalidInput) as refused:
        make_job(alpha, "set", "tasks", set=patch)

    assert (pointer, code) in {(error.pointer, error.code) for error in refused.value.errors}
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize(
    "patch",
    [
        {"schedule": {"working_day": 1}},
        {"schedule": {"run_at": "2199-02-01T00:00:00Z"}},
        {"schedule": {"every": "PT5M"}},
        {"retry_policy": {"backoff": "fixed"}},
        {"labels": {"team": None}},
        {"payload": None},
    ],
)
def test_what_some_task_can_take_is_judged_with_each(patch):
    require_patch(patch)


def test_only_a_payload_counts_as_an_edited_payload(alpha):
    make_task(alpha)

    assert not present_bulk_job(setting(alpha, {"priority": 1}))["payload_edited"]
    assert present_bulk_job(setting(alpha, {"payload": 1}))["payload_edited"]


def test_what_is_no_secret_is_shown():
    patch = {"target": {"headers": {"X-Team": "a", "Cookie": None}, "method": "GET"}}

    assert masked(patch) == patch
    assert masked({"target": None}) == {"target": None}


@pytest.mark.parametrize(
    "patch",
    [
        {"target": {"kind": "handler", "handler": "x"}},
        {"target": {"cancel_grace_seconds": 5}},
        {"target": {"requires": {"gpu": "yes"}}},
        {"target": {"kind": "pool", "pool": "batch-etl", "handler": "x"}},
        {"retry_policy": {"stop_on": ["404"]}},
    ],
)
def test_what_tasks_of_one_kind_can_take_is_a_patch(patch):
    require_patch(patch)


def test_secrets_of_a_target_are_not_shown():
    auth = {"type": "bearer", "token": "s3cret"}

    shown = masked({"target": {"auth": auth, "environment": {"A": "s3cret"}}})

    assert shown == {
        "target": {"auth": {"type": "bearer", "token": MASK}, "environment": {"A": MASK}}
    }


@pytest.mark.parametrize("patch", [{"priority": 2}, {"schedule": {"jitter_seconds": 30}}])
def test_tasks_whose_tenant_has_no_room_for_versions_fail_with_the_reason(alpha, patch, caplog):
    tasks = [make_task(alpha) for _ in range(3)]
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_payload_bytes": 1})

    job = set_all(alpha, patch)

    assert counts(job) == (0, 0, 3)
    assert {item.code for item in job.items.all()} == {"quota_exceeded"}
    assert [reload(task).version for task in tasks] == [1, 1, 1]
    assert "bulk_batch.failed" not in caplog.text


def test_a_full_quota_refuses_the_items_of_a_batch_in_one_step(alpha, monkeypatch):
    for _ in range(3):
        make_task(alpha)
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_payload_bytes": 1})
    together, sizes = setting_of_many.set_together, []

    def note(order, batch):
        sizes.append(len(batch.open))
        return together(order, batch)

    monkeypatch.setattr(setting_of_many, "set_together", note)
    monkeypatch.setattr("executions.bulk.actions._REFUSALS_SECONDS", 3600.0)

    job = set_all(alpha, {"priority": 2})

    assert counts(job) == (0, 0, 3)
    assert sizes == [3]
