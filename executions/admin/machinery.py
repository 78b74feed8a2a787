"""Schedulers, their leases and the ledger's floor in the admin: to look at, never to change."""

from __future__ import annotations

from django.contrib import admin

from executions.models import LedgerFloor, PartitionLease, SchedulerNode
from shared.admin import ProductAdmin


@admin.register(SchedulerNode)
class SchedulerNodeAdmin(ProductAdmin):
    """Live schedulers by their heartbeat."""

    list_display = ("name", "pid", "started_at", "heartbeat_at", "id")


@admin.register(PartitionLease)
class PartitionLeaseAdmin(ProductAdmin):
    """Which scheduler owns which of the 256 partitions."""

    list_display = ("partition", "owner", "epoch", "expires_at")
    list_per_page = 256


@admin.register(LedgerFloor)
class LedgerFloorAdmin(ProductAdmin):
    """The oldest id that may still be unfinished."""

    list_display = ("id", "floor_id")
