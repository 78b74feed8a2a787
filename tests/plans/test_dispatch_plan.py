from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from executions import transitions
from executions.destinations.limits import get_destination
from executions.dispatch.stage import Dispatcher
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.services import active_signing_secrets
from tests.factories import make_execution, make_task, make_tenant, once, prepare
from tests.support.beats import beat

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_claiming_touches_the_days_with_unfinished_work_only(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    beat("w1", slots=100)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)

    with plans() as found:
        assert dispatcher.run_once().done == 30

    assert Execution.objects.filter(status="QUEUED").count() == 30
    found.check("dispatch/waiting", "dispatch/claim_due", "dispatch/next_due", "dispatch/leased")


def test_parked_work_is_found_by_its_destination_in_the_days_with_unfinished_work(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    Execution.objects.filter(tenant=alpha).update(parked=True)
    beat("w1", slots=100)
    partitions = Partitions()
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)

    with plans() as found:
        shown = get_destination(alpha.id, "api.example.com")
        assert dispatcher.run_once().done == 30

    assert shown.parked == 30
    found.check("dispatch/claim_due", "dispatch/parked_destinations", "dispatch/limits")
    found.check("destinations/work")


def test_what_was_just_made_is_claimed_by_its_ids(plans: Any):
    alpha = make_tenant("Alpha")
    made = [make_execution(alpha) for _ in range(3)]
    Execution.objects.update(due_at=F("due_at") - timedelta(minutes=1))
    Partitions().run_once()

    with plans() as found:
        claimed = transitions.mark_queued_at_once([row.id for row in made], "now")

    assert len(claimed) == 3
    found.check("dispatch/claim_these")
