"""What a lost scheduler claimed of partitions that live on, and may not have sent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from tenants.models import Tenant
from tests.factories import WORKER, make_execution
from tests.support.beats import beat

pytestmark = pytest.mark.django_db


def test_what_was_claimed_while_a_scheduler_was_lost_comes_back(alpha: Tenant):
    beat(WORKER)
    ensure_group()
    before, within = make_execution(alpha, "QUEUED"), make_execution(alpha, "QUEUED")
    now = database_now()
    for execution, seconds in ((before, 90), (within, 30)):
        Execution.objects.filter(id=execution.id).update(queued_at=now - timedelta(seconds=seconds))
    rescuer = Rescuer(Partitions())
    rescuer.partitions.run_once()
    rescuer.partitions.unsent = (now - timedelta(seconds=60), now)

    assert rescuer.run_once().done == 1

    before.refresh_from_db()
    within.refresh_from_db()
    assert (before.status, within.status) == ("QUEUED", "PENDING")
    assert rescuer.partitions.unsent is None
