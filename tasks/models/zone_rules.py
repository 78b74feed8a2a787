"""The changes of a zone's clock that the installation's schedules were computed with."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ZoneRules(models.Model):
    """A zone as the zone database had it at the last check.

    ``transitions`` are pairs of the second since 1970 at which an offset begins and that offset
    in seconds, the first of them for all time before.
    """

    name = models.CharField(max_length=255, primary_key=True)
    release = models.CharField(max_length=40)
    transitions = models.JSONField()
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "zone_rules"
        verbose_name_plural = "zone rules"

    def __str__(self) -> str:
        return f"{self.name} {self.release}"
