"""The attempts that ended within one minute, per tenant: counts and the spread of start delays.

:mod:`executions.ledger.minute_stats` writes it in the transaction that records the outcomes,
:mod:`insight.statistics` reads it, and housekeeping prunes it with the days of the ledger.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

#: Upper bounds of the buckets of start delays, inclusive, in milliseconds; delays above the last
#: one have a bucket of their own. Stored rows count by position: never change existing bounds.
START_DELAY_BUCKETS_MS = (
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000,
)  # fmt: skip
#: A start later than this is late.
LATE_ABOVE_MS = 1_000
#: The objective: nearly all executions start within this long. Each later one has a log line,
#: unless its task has a target of its own.
START_TARGET_MS = 5_000


class MinuteStat(models.Model):
    """One row per tenant and minute in which an attempt ended; a quiet minute has none.

    ``start_delays`` counts first attempts by their start delay, one element per bucket of
    :data:`START_DELAY_BUCKETS_MS` and one for delays above all of them; ``late`` counts delays of
    more than :data:`LATE_ABOVE_MS`. ``cancelled`` counts executions whose attempt ended so; no
    minute has an execution that was cancelled before its start. All of these count calls: those of
    tasks and of steps of workflows. The steps among them are counted once more, and beside them the
    runs, so that failures of tasks and of runs can be told without those of steps.

    For the usage of a day: ``started`` counts first attempts, ``attempts`` all of them,
    ``execution_ms`` adds up their durations, and ``recorded_bytes`` the answers and logs that the
    attempts keep, encrypted. An execution that failed without a start has no attempt.

    For the objectives: ``by_band`` counts the starts with a start delay, then the attempts, each
    of high, normal and low priority: six numbers, or none in rows from before these were counted.
    """

    pk = models.CompositePrimaryKey("tenant_id", "minute")
    tenant_id = models.UUIDField()
    minute = models.DateTimeField()
    succeeded = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    retried = models.IntegerField(default=0)
    cancelled = models.IntegerField(default=0)
    late = models.IntegerField(default=0)
    start_delays = ArrayField(models.IntegerField())
    steps_succeeded = models.IntegerField(default=0, db_default=0)
    steps_failed = models.IntegerField(default=0, db_default=0)
    runs_succeeded = models.IntegerField(default=0, db_default=0)
    runs_failed = models.IntegerField(default=0, db_default=0)
    started = models.IntegerField(default=0, db_default=0)
    attempts = models.IntegerField(default=0, db_default=0)
    execution_ms = models.BigIntegerField(default=0, db_default=0)
    recorded_bytes = models.BigIntegerField(default=0, db_default=0)
    by_band = ArrayField(models.IntegerField(), default=list, db_default=[])

    class Meta:
        db_table = "minute_stats"

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.minute:%Y-%m-%d %H:%M}"
