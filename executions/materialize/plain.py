"""Prepares plain tasks in one statement, without planning: those with one instant and no policy.

The cursor of such a task has the id of its execution, which was made with the task. A change that
needs a decision about the instant takes the id away, and the task is planned as others are.
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

    What the database refuses is left to be planned with the others, which tells task from task.
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
            log.warning("plain_tasks_refused", extra={"reason": str(error)})
            plan_until(dict.fromkeys(partitions.held, horizon + timedelta(seconds=1)))
            return taken
        if count:
            taken = Taken(taken.tasks + count, min(first, taken.first or first))
        each = conf().materialize_batch // full + 1 if full else 0
    return taken


def plan_until(moments: Mapping[int, datetime]) -> None:
    """Let plain instants before a moment, by partition, be planned as all others are."""
    run(
        "materialize/plan_plain",
        {"partitions": list(moments), "until": list(moments.values())},
    )
