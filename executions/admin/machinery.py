"""Schedulers, leases, workers' load and tenants' shares in the admin, read-only."""

from __future__ import annotations

from django.contrib import admin

from executions.models import (
    MetricTotal,
    ObjectiveCount,
    PartitionLease,
    SchedulerNode,
    ShareMinute,
    UnownedStretch,
    WorkerHour,
    WorkerMinute,
)
from shared.admin import ProductAdmin


@admin.register(SchedulerNode)
class SchedulerNodeAdmin(ProductAdmin):
    """Live schedulers by their heartbeat."""

    list_display = ("name", "pid", "started_at", "heartbeat_at", "lease_expires_at", "id")


@admin.register(PartitionLease)
class PartitionLeaseAdmin(ProductAdmin):
    """Which scheduler owns which of the 256 partitions, as long as that scheduler's lease lasts."""

    list_display = ("partition", "owner", "epoch", "expires_at")
    list_per_page = 256


@admin.register(UnownedStretch)
class UnownedStretchAdmin(ProductAdmin):
    """When partitions had no scheduler."""

    list_display = ("partition", "since", "until", "lost_by", "taken_by", "judged", "id")


@admin.register(MetricTotal)
class MetricTotalAdmin(ProductAdmin):
    """What is added up to the totals of ``/metrics``, and not yet one row."""

    list_display = ("id", "series", "counts")


@admin.register(ObjectiveCount)
class ObjectiveCountAdmin(ProductAdmin):
    """What counts for the objectives of each tenant, and what missed them, by cause."""

    list_display = (
        "id", "at", "tenant_id", "objective", "band", "cause", "counted", "bad", "execution_id",
        "hourly",
    )  # fmt: skip


@admin.register(ShareMinute)
class ShareMinuteAdmin(ProductAdmin):
    """What each tenant received of scarce pools by minute, beside what its weight made due."""

    list_display = (*("minute", "pool", "tenant_id", "due", "received", "oldest_wait"), "id")


@admin.register(WorkerMinute)
class WorkerMinuteAdmin(ProductAdmin):
    """The load of each worker by minute."""

    list_display = (
        *("minute", "worker", "pool", "running", "held", "cpu_percent", "ended_in_minute"),
        "id",
    )


@admin.register(WorkerHour)
class WorkerHourAdmin(ProductAdmin):
    """The load of each worker by hour, beyond the week of the minutes."""

    list_display = ("hour", "worker", "pool", "running", "held", "cpu_percent", "ended", "id")
