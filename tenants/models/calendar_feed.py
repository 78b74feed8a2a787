"""The calendar feed: a secret link by which a calendar program reads coming runs."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.ids import new_id


class CalendarFeed(models.Model):
    """A feed of one member, of the tasks of ``filter``, with days on the clock of ``timezone``.

    Only the hash of the link's token is stored. It goes with the membership. ``last_read_at`` is
    written at most once an hour.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    member = models.ForeignKey("tenants.Membership", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80)
    filter = models.CharField(max_length=2000, default="", blank=True)
    timezone = models.CharField(max_length=64)
    token_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    last_read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "calendar_feeds"

    def __str__(self) -> str:
        return self.name
