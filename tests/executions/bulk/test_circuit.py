"""A guarded redrive stops by itself when a destination that it goes to is down."""

from __future__ import annotations

import pytest

from executions.bulk.circuit import meets_open_circuit
from executions.models import Execution
from shared import redis_client
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, let_time_pass, make_job, outcomes, run_job
from tests.factories import finish, make_dead_letter, make_task, once, release, start
from tests.support.closed_redis import closed_redis
from tests.support.letters import make_letters
from tests.support.scripts import Moved
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db

HOST = "api.example.com"


def open_circuit(tenant: Tenant, host: str = HOST) -> None:
    """Let every call of the last minute have failed."""
    redis = Moved()
    redis.at = int(redis_client.client().time()[0] * 1000 - redis.now)
    redis.report(20, 20, destination=key_of(tenant.id, host))


def test_a_circuit_that_opens_stops_the_redrive(alpha: Tenant):
    make_letters(alpha, 6)
    job = run_job(make_job(alpha, canary=2))
    open_circuit(alpha)

    let_time_pass(job)
    job = run_job(job)

    assert (job.status, job.reason) == ("STOPPED", "circuit_open")
    assert counts(job) == (2, 4, 0)
    assert outcomes(job)[2:] == [("skipped", "circuit_open")] * 4


def test_a_redrive_to_a_host_that_is_down_does_not_begin(alpha: Tenant):
    make_letters(alpha, 3)
    open_circuit(alpha)

    job = run_job(make_job(alpha, stop_on_failure_rate=0.5))

    assert (job.status, counts(job)) == ("STOPPED", (0, 3, 0))
    assert not Execution.objects.filter(trigger="retry").exists()


def test_circuits_of_other_hosts_and_tenants_let_it_go_on(alpha: Tenant, beta: Tenant):
    make_letters(alpha, 3)
    open_circuit(alpha, "other.example.com")
    open_circuit(beta)

    assert run_job(make_job(alpha, stop_on_failure_rate=0.5)).status == "COMPLETED"


def test_while_redis_is_away_no_circuit_is_known(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    make_letters(alpha, 1)
    job = make_job(alpha, canary=1)
    monkeypatch.setattr("executions.dispatch.circuits.client", closed_redis)

    assert not meets_open_circuit(job)


def test_a_job_without_guards_waits_with_its_executions(alpha: Tenant):
    make_letters(alpha, 3)
    open_circuit(alpha)

    assert run_job(make_job(alpha, rate_per_second=1000)).status == "COMPLETED"


def test_what_is_made_already_and_waits_for_its_host_counts(alpha: Tenant):
    elsewhere = once(target={"url": "https://other.example.com/"})
    first = make_dead_letter(alpha)
    second = make_dead_letter(alpha, elsewhere)
    job = run_job(make_job(alpha, canary=1, filters={"ids": [str(first.id), str(second.id)]}))
    open_circuit(alpha)

    assert meets_open_circuit(job)
    [row] = release()
    start([row])
    finish(row)
    assert not meets_open_circuit(job)


@pytest.mark.parametrize("kind", ["tasks", "executions"])
def test_each_kind_of_job_knows_where_its_items_go(alpha: Tenant, kind: str):
    letter = make_dead_letter(alpha)
    task = make_task(alpha)
    action, item = ("run", task.id) if kind == "tasks" else ("retry", letter.execution_id)
    job = make_job(alpha, action, kind, {"ids": [str(item)]}, stop_on_failure_rate=0.1)
    open_circuit(alpha)

    assert meets_open_circuit(job)
