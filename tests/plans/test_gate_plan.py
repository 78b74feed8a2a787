from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from executions.gate import stage as gate
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tests.factories import every_second, finish, make_task, make_tenant, prepare, release

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_gate_touches_the_days_with_unfinished_work_only(
    plans: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gate, "_CHUNK", 20)
    alpha = make_tenant("Alpha")
    for policy in ("skip", "queue_one", "cancel_running"):
        body = every_second(name=policy, schedule={"every": "PT1S", "overlap_policy": policy})
        make_task(alpha, body)
    prepare()
    Execution.objects.filter(gated=True).update(due_at=F("due_at") - timedelta(seconds=20))
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        assert gate.run_once(partitions).done > 10
        Execution.objects.filter(counted=True).update(due_at=F("due_at") - timedelta(seconds=20))
        for claimed in release():
            finish(claimed)

    found.check(
        "gate/groups",
        "gate/groups_of_task",
        "gate/standings",
        "gate/lock_due",
        "gate/admit",
        "gate/skip",
        "transitions/complete",
        "gate/somebody_waits",
    )


def test_what_has_to_make_room_is_found_by_id(plans: Any):
    alpha = make_tenant("Alpha")
    body = every_second(schedule={"every": "PT1S", "overlap_policy": "cancel_running"})
    make_task(alpha, body)
    prepare()
    first, second = Execution.objects.filter(gated=True).order_by("id")[:2]
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        for row in (first, second):
            Execution.objects.filter(id=row.id).update(due_at=F("due_at") - timedelta(seconds=20))
            gate.run_once(partitions)

    assert Execution.objects.get(id=first.id).reason == "overlap_cancelled"
    found.check("gate/lock_places", "complete/cancel")
