"""The event cursor: how far a consumer has read the outbox."""

from __future__ import annotations

from django.db import models


class EventCursor(models.Model):
    """One row per consumer: everything before (``xid``, ``event_id``) has been handled.

    ``read_at`` is when it had last read all there was. Whatever it has not read was written by a
    transaction that ran then or began later, which bounds the days it has to look at.
    """

    consumer = models.CharField(primary_key=True, max_length=40)
    xid = models.PositiveBigIntegerField()
    event_id = models.UUIDField()
    read_at = models.DateTimeField()

    class Meta:
        db_table = "event_cursors"

    def __str__(self) -> str:
        return self.consumer
