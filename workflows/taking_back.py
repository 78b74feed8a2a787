"""Takes back steps of a run that are open: cancels them, without holding the run's lock."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from uuid import UUID

from django.db import transaction

from executions.changes.cancellation import cancel_locked
from executions.choices import FINAL
from executions.models import Execution
from shared.exceptions import Unavailable
from shared.sql import rows

log = logging.getLogger("workflows.taking_back")

_AT_ONCE = 1000


def take_back(found: Mapping[UUID, Collection[int]]) -> None:
    """Cancel the open executions of these steps of runs.

    What runs is asked to end. Where Redis cannot be asked, they stay: the repair pass tries again.
    """
    for run_id, steps in found.items():
        try:
            while _take_back(run_id, steps) == _AT_ONCE:
                pass
        except Unavailable as error:
            log.warning(
                "steps.not_taken_back", extra={"run_id": str(run_id), "reason": error.message}
            )


def _take_back(run_id: UUID, steps: Collection[int]) -> int:
    wanted = {
        "run": run_id,
        "steps": sorted(steps),
        "limit": _AT_ONCE,
    }
    ids = [row[0] for row in rows("workflow_ends/open_steps", wanted)]
    if ids:
        with transaction.atomic():
            held = Execution.objects.held(ids)
            cancel_locked([row for row in held if row.status not in FINAL])
    return len(ids)
