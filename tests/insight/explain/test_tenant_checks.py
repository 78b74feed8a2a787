from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import run_task
from insight.explain.evidence import Situation
from insight.explain.tenant_checks import tenant_limit
from tasks.models import Task
from tenants.models import Tenant
from tenants.services import change_quotas
from tests.factories import ACTOR, make_execution, make_tenant, reload
from tests.support.workflows import EVERYWHERE, calls, go_on, make_workflow
from workflows.begin import begin_due

pytestmark = pytest.mark.django_db


def check(row: Execution):
    row.refresh_from_db()
    task = Task.objects.get(pk=row.task_id)
    return tenant_limit(Situation(task, row.scheduled_for, database_now(), row))


def limit(tenant, **quotas):
    Tenant.objects.filter(pk=tenant.pk).update(quotas=quotas, unlimited=False)


def test_a_tenant_without_such_a_limit_is_not_asked(alpha):
    assert check(make_execution(alpha)).ok is None


def test_a_full_tenant_is_told_with_its_number(alpha):
    limit(alpha, executions_in_flight=1)
    make_execution(alpha, "RUNNING")
    waiting = make_execution(alpha)

    found = check(waiting)

    assert (found.ok, found.says) == (False, "tenant_limit: in flight 1 of 1")


def test_a_tenant_with_places_passes(alpha):
    limit(alpha, executions_in_flight=2)

    assert check(make_execution(alpha)).ok is True


def test_a_refused_start_names_the_rate(alpha):
    limit(alpha, executions_per_second=3)
    row = make_execution(alpha)
    Execution.objects.filter(pk=row.pk).update(reason="tenant_limit")

    found = check(row)

    assert (found.ok, found.says) == (False, "tenant_limit: 3 starts a second")


@pytest.mark.parametrize(
    ("quota", "words"),
    [("runs_in_flight", "runs in flight 1 of 1"), ("steps_in_flight", "steps in flight 1 of 1")],
)
def test_the_limit_its_use_and_the_remedy_are_named(quota: str, words: str):
    tenant = make_tenant()
    change_quotas(tenant.id, actor=ACTOR, limits={quota: 1})
    task = make_workflow(tenant, [calls("a"), calls("b")])
    for _ in range(2):
        run_task(tenant.id, task.id, None, actor=ACTOR)
    go_on(*begin_due(EVERYWHERE, 10))
    found = Execution.objects.filter(reason="tenant_limit")[0]

    check = tenant_limit(Situation(reload(task), found.scheduled_for, database_now(), found))

    assert check.ok is False
    assert words in check.evidence
    change_quotas(tenant.id, actor=ACTOR, limits={quota: 5})
    free = tenant_limit(Situation(reload(task), found.scheduled_for, database_now(), found))
    assert free.not_yet


def test_other_work_is_not_held_by_it():
    tenant = make_tenant()
    task = make_workflow(tenant, [calls("a")])
    execution = run_task(tenant.id, task.id, None, actor=ACTOR)

    check = tenant_limit(Situation(task, execution.scheduled_for, database_now(), execution))

    assert check.ok is None
