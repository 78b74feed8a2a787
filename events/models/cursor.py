"""The event cursor: how far a consumer has read the outbox."""

from __future__ import annotations

from django.db import models


class EventCursor(models.Model):
    """One row per consumer: everything before (``xid``, ``event_id``) has been handled.

    ``read_at`` is when the consumer had last read every event. A transaction that ran then or
    began later wrote each unread event, which bounds the days that the consumer has to read.
    """

    consumer = models.CharField(primary_key=True, max_length=40)
    xid = models.PositiveBigIntegerField()
    event_id = models.UUIDField()
    read_at = models.DateTimeField()

    class Meta:
        db_table = "event_cursors"

    def __str__(self) -> str:
        return self.consumer
