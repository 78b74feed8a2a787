"""Bulk jobs in the admin: their progress, and the items that were skipped or failed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.html import format_html_join

from executions.choices import ItemOutcome
from executions.models import BulkJob, BulkJobItem
from shared.admin import ProductAdmin
from tenants.admin import TenantFilter

_SHOWN = 50


@admin.register(BulkJob)
class BulkJobAdmin(ProductAdmin):
    """One action over many rows; it is cancelled in the console."""

    list_display = (
        "name_or_action", "status", "total", "done_count", "skipped_count", "failed_count",
        "created_by", "created_at", "tenant", "console",
    )  # fmt: skip
    list_filter = ("status", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id, or how the name begins."
    console_kind = "bulk_job"

    @admin.display(description="Bulk job")
    def name_or_action(self, job: BulkJob) -> str:
        """Return the job's name, else its action and kind."""
        return job.name or f"{job.action} {job.kind.replace('_', ' ')}"

    @admin.display(description="Not done")
    def not_done(self, job: BulkJob) -> str:
        """Return the first rows that were skipped or failed, with their reasons."""
        missed = BulkJobItem.objects.filter(
            job_id=job.pk, outcome__in=[ItemOutcome.SKIPPED, ItemOutcome.FAILED]
        ).order_by("position")[:_SHOWN]
        rows = [(item.item_id, item.outcome, item.message) for item in missed]
        return format_html_join("", "<div>{} {} {}</div>", rows) or "-"

    def get_fields(self, request: Any, obj: Any = None) -> list[Any]:
        """Show the job's columns, and the items that were skipped or failed."""
        return [*super().get_fields(request, obj), "not_done"]
