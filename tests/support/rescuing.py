"""A rescuer as tests run it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from executions.models import Execution
from executions.rescue.stage import Rescuer


class Time:
    """A monotonic clock that stands still until told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def take_partitions(rescuer: Rescuer) -> None:
    rescuer.partitions.run_once()
    assert rescuer.partitions.held


def run(rescuer: Rescuer) -> int:
    take_partitions(rescuer)
    return rescuer.run_once().done


def expire(execution: Execution, seconds: float = 120.0) -> None:
    Execution.objects.filter(id=execution.id).update(
        lease_expires_at=F("lease_expires_at") - timedelta(seconds=seconds)
    )
