"""Standing pauses in the admin: which are open, what they hold, and their end."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from executions.changes.pauses import end_pause
from shared.admin import ProductAdmin, Verb, admin_action
from tasks.choices import SUSPENSION
from tasks.models import Pause, Task
from tasks.standing_pauses import describe
from tenants.admin import TenantFilter


def _why_not_ended(pause: Pause) -> str:
    if pause.ended_at:
        return "already ended"
    return "ends when its tenant is resumed" if pause.scope == SUSPENSION else ""


END = Verb(
    "end",
    "End",
    "ended",
    lambda pause, actor, options: end_pause(pause.tenant_id, pause.id, actor=actor),
    skip=_why_not_ended,
    warning="Tasks that these pauses hold resume, unless another pause covers them.",
)


class OpenFilter(admin.SimpleListFilter):
    """Open, or ended."""

    title = "open"
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the choices."""
        return [("1", "Open"), ("0", "Ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the pauses that are open, or that are not."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(ended_at__isnull=chosen == "1")


@admin.register(Pause)
class PauseAdmin(ProductAdmin):
    """Standing pauses of every tenant, newest first; they are created in the console or by API."""

    list_display = (
        "covers", "note", "until", "created_by", "created_at", "ended_by", "ended_at", "tenant",
    )  # fmt: skip
    list_filter = (OpenFilter, TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id",)
    search_help_text = "Id."
    actions = (admin_action(END),)

    @admin.display(description="Pause of")
    def covers(self, pause: Pause) -> str:
        """Return the scope of the pause in words."""
        return describe(pause.scope, pause.value)

    @admin.display(description="Tasks that it holds")
    def held(self, pause: Pause) -> int:
        """Return how many tasks it holds now."""
        return Task.objects.filter(pause_id=pause.pk).count()

    def get_fields(self, request: Any, obj: Any = None) -> list[Any]:
        """Show the pause's columns, and how many tasks it holds."""
        return [*super().get_fields(request, obj), "held"]
