"""The totals of the installation's metrics, counted in the transactions that they count."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models


class MetricTotal(models.Model):
    """What one statement adds to some totals; a total is the sum over all rows.

    Rows are made and deleted, never changed: no session waits for another one's counts, and no row
    has old versions to step over. Every few seconds they are added up to one. Series are named by
    :mod:`executions.ledger.totals`; ``counts`` has the number of each, sums are in microseconds.
    """

    series = ArrayField(models.TextField())
    counts = ArrayField(models.BigIntegerField())

    class Meta:
        db_table = "metric_totals"

    def __str__(self) -> str:
        return ", ".join(self.series)
