"""A run that fails by its deadline has an alert of that kind, unless the tenant turned it off."""

from __future__ import annotations

import pytest
from django.db import connection

from notifications.alerter import Alerter
from notifications.models import Alert
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.notifications.cast import begin
from tests.notifications.time_checks.world import rule
from tests.support.workflows import begin_run, make_workflow, pass_time, status_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alpha() -> Tenant:
    begin()
    return make_tenant("Alpha")


def overrun(tenant: Tenant) -> None:
    """Let a run that waits for an approval meet its deadline."""
    steps = [{"key": "ask", "kind": "approval"}]
    run_id = begin_run(make_workflow(tenant, steps, deadline_seconds=60))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflow_waits SET due_at = now() - interval '1 second' WHERE kind = 'deadline'"
        )
    pass_time()
    assert status_of(run_id) == "FAILED"


@pytest.mark.parametrize(("enabled", "kind"), [(True, "deadline_passed"), (False, "final_failure")])
def test_a_run_past_its_deadline_is_one_alert(alpha: Tenant, enabled: bool, kind: str):
    if not enabled:
        rule(alpha, "deadline_passed", built_in=True, enabled=False)
    overrun(alpha)

    Alerter().run_once()
    Alerter().run_once()

    assert list(Alert.objects.values_list("kind", "count")) == [(kind, 1)]
