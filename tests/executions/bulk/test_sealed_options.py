from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.bulk.actions import order_of
from executions.bulk.sealed_options import has_payload, into_of, readable, shown
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from shared.data_keys import forget_all
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import DataKey, Tenant
from tests.executions.bulk.bulk import counts, make_job, run_job
from tests.factories import make_execution, make_task, once
from tests.support.places import clear_places_of

pytestmark = pytest.mark.django_db
CANARY = "canary-31ab"
URL = f"https://api.example.com/{CANARY}?key={CANARY}"


def replay(tenant: Tenant, into: dict[str, str]) -> BulkJob:
    make_execution(tenant, "SUCCEEDED")
    span = {"since": "2020-01-01T00:00:00Z", "until": "2198-01-01T00:00:00Z"}
    return make_job(tenant, "replay", "executions", span, into=into)


def set_fields(tenant: Tenant, patch: dict[str, object]) -> BulkJob:
    task = make_task(tenant, once())
    return make_job(tenant, "set", "tasks", {"ids": [str(task.id)]}, set=patch)


def test_the_url_of_a_replay_is_in_no_table_and_is_what_is_called(alpha: Tenant):
    job = replay(alpha, {"url": URL})

    assert clear_places_of(CANARY) == set()
    stored = BulkJob.objects.get(pk=job.pk)
    assert stored.options["into"] == {"origin": "https://api.example.com"}
    assert into_of(order_of(stored, database_now())) == {"url": URL}
    assert shown(stored)["into"] == {"url": URL}
    assert not has_payload(stored)


@pytest.mark.parametrize("seals", [True, False])
def test_a_replay_goes_to_the_url_and_leaves_it_nowhere_in_clear_but_as_before(
    alpha: Tenant, seals: bool
):
    DataKey.objects.update(seals_targets=seals)
    forget_all()
    job = replay(alpha, {"url": URL})

    run_job(job)

    assert counts(job) == (1, 0, 0)
    made = Execution.objects.exclude(parent_id=None).get()
    task = Task.objects.get(pk=made.task_id)
    assert read_definition(task, made.revision).target["url"] == URL
    in_clear = set() if seals else {"bulk_jobs.options", "task_revisions.definition"}
    assert clear_places_of(CANARY) == in_clear


def test_the_pool_of_a_replay_is_no_secret(alpha: Tenant):
    options = {"into": {"pool": "own"}, "rate_per_second": 10}

    assert readable(options) == options


def test_addresses_headers_and_arguments_of_a_patch_are_in_no_table(alpha: Tenant):
    patch = {
        "target": {
            "url": URL,
            "headers": {"X-Plain": CANARY},
            "auth": {
                "type": "oauth2",
                "token_url": f"https://id.example.com/{CANARY}",
                "client_id": "me",
                "client_secret": "s3cret",
                "scope": None,
                "audience": None,
            },
        },
        "priority": 3,
    }
    job = set_fields(alpha, patch)

    assert clear_places_of(CANARY) == set()
    stored = BulkJob.objects.get(pk=job.pk)
    found = shown(stored)["set"]
    assert found["target"]["url"] == URL
    assert "s3cret" not in str(found)
    assert found["priority"] == 3
    assert not has_payload(stored)


def test_a_job_whose_sealed_part_is_gone_shows_the_rest(alpha: Tenant):
    job = replay(alpha, {"url": URL})
    BulkJob.objects.filter(pk=job.pk).update(sealed_payload=b"\x01")

    assert shown(BulkJob.objects.get(pk=job.pk))["into"] == {"url": "https://api.example.com"}


def test_the_audit_log_has_no_address_also_where_targets_are_not_sealed(alpha: Tenant):
    DataKey.objects.update(seals_targets=False)
    forget_all()
    job = replay(alpha, {"url": URL})

    assert job.options["into"] == {"url": URL}
    entry = AuditEntry.objects.get(action="bulk_job.created")
    assert CANARY not in str(entry.after)
