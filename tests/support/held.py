"""What workers hold, by what they say of themselves."""

from __future__ import annotations

from executions.models import Execution
from wire.heartbeats import workers

#: The environment of a worker that says so at once, before what it holds waits too long there.
SAYS_AT_ONCE = {"DJANGO_SETTINGS_MODULE": "tests.support.quick_beat_settings"}


def workers_hold_all_queued() -> bool:
    """Say whether all that is queued, one or more, has reached a worker and waits there."""
    held: int = sum(one.details["held"] for one in workers())
    return 0 < held == Execution.objects.filter(status="QUEUED").count()
