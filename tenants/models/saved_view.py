"""The saved view: a name for a list of the console with its filters."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tenants.choices import SavedList


class SavedView(models.Model):
    """A list with the query of its address, of one member or shared with the tenant.

    ``member`` is the owner of a personal view and empty for a shared one. The default view of a
    list is shown where its address has no query.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    member = models.ForeignKey(
        "tenants.Membership", null=True, on_delete=models.CASCADE, related_name="+"
    )
    list = models.CharField(max_length=16, choices=SavedList.choices)
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000, default="")
    is_default = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "saved_views"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "list", "member", "name"],
                name="one_saved_view_per_name",
                nulls_distinct=False,
            ),
            models.UniqueConstraint(
                fields=["tenant", "list", "member"],
                condition=Q(is_default=True),
                name="one_default_view_per_list",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="saved_list_is_known", condition=Q(list__in=SavedList.values)
            ),
        ]

    def __str__(self) -> str:
        return self.name
