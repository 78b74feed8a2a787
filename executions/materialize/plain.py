"""Prepare plain tasks, with one instant and no policy, in one statement without planning.

The cursor of such a task has the id of its execution, which was made with the task. A change that
needs a decision about the instant removes the id, and the task is planned as others are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import DataError, IntegrityError, transaction

from executions.ledger import days
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import rows, run

log = logging.getLogger("executions.engine.plain")


class Taken(NamedTuple):
    """How many tasks have been prepared, and when the first comes due."""

    tasks: int = 0
    first: datetime | None = None


def take(partitions: Partitions, since: datetime, now: datetime, each: int) -> Taken:
    """Prepare about a batch of due plain tasks, in the first pass ``each`` of every partition.

    Instants that the database refuses are left to planning, which handles task by task.
    """
    horizon = now + timedelta(seconds=conf().horizon_seconds)
    taken = Taken()
    while each and taken.tasks < conf().materialize_batch:
        owner = partitions.parameters()
        parameters = {**owner, "since": since, "horizon": horizon, "each": each}
        try:
            with transaction.atomic():
                [(count, full, first)] = rows("materialize/take_plain", parameters)
        except (DataError, IntegrityError) as error:
            if not days.blames_a_value(error):
                raise
            log.warning("plain_tasks.refused", extra={"reason": str(error)})
            plan_until(dict.fromkeys(partitions.held, horizon + timedelta(seconds=1)))
            return taken
        if count:
            taken = Taken(taken.tasks + count, min(first, taken.first or first))
        each = conf().materialize_batch // full + 1 if full else 0
    return taken


def plan_until(moments: Mapping[int, datetime]) -> None:
    """Leave plain instants before a moment, by partition, to planning as all others."""
    run(
        "materialize/plan_plain",
        {"partitions": list(moments), "until": list(moments.values())},
    )
