"""Named filters and reads of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Q

from shared.hosts import HostError
from shared.querysets import TenantQuerySet
from tasks.choices import SUSPENSION, TaskStatus
from tasks.destination_names import read_name

if TYPE_CHECKING:
    from tasks.models.calendar import Calendar
    from tasks.models.pause import Pause
    from tasks.models.task import Task


class TaskQuerySet(TenantQuerySet["Task"]):
    """Reads of tasks; :meth:`for_tenant` leaves out deleted ones."""

    called = "task"
    found_by_key = True  # tasks_by_tenant_idx

    def locked(self) -> TaskQuerySet:
        """Return the tasks locked, in order of their ids; each is the lock of its cursor too.

        The cursors are read after the locks are taken: joined, they would have the state from
        before this session waited.
        """
        alone = self.select_related(None).order_by("id")
        return alone.select_for_update(no_key=True).prefetch_related("cursor")

    def judged(self) -> TaskQuerySet:
        """Return the tasks with the fields that the rules of a verb ask for, without cursors.

        Any other field costs a statement for each task.
        """
        alone = self.select_related(None).prefetch_related(None)
        return alone.only("tenant_id", "status", "pause_id", "deleted_at")

    def for_tenant(self, tenant_id: UUID) -> TaskQuerySet:
        """Return the tenant's tasks that are not deleted."""
        return self.filter(tenant_id=tenant_id, deleted_at__isnull=True)

    def filtered(self, filters: Mapping[str, Any]) -> TaskQuerySet:
        """Return the tasks that match: status, type, label, owner, destination, q, ids.

        A filter that is absent or None matches all. Every list and every bulk job filters here.
        """
        found = self
        if filters.get("status"):
            found = found.filter(status__in=filters["status"])
        if filters.get("type") is not None:
            found = found.filter(type=filters["type"])
        if filters.get("ids") is not None:
            found = found.filter(id__in=filters["ids"])
        if filters.get("label") is not None:
            found = found.labelled(filters["label"])
        if filters.get("owner") is not None:
            found = found.owned(filters["owner"])
        if filters.get("destination") is not None:
            found = found.calling(filters["destination"])
        return found.matching(filters["q"]) if filters.get("q") else found

    def calling(self, host: str) -> TaskQuerySet:
        """Return tasks whose webhook calls the host, in any spelling; ended tasks too."""
        try:
            return self.filter(destination=read_name(host), destination__gt="")
        except HostError:
            return self.none()

    def matching(self, text: str) -> TaskQuerySet:
        """Return tasks whose name or labels contain the text."""
        return self.filter(Q(name__icontains=text) | Q(labels__icontains=text))

    def without_text(self, text: str) -> TaskQuerySet:
        """Return the tasks that :meth:`matching` leaves out."""
        return self.exclude(Q(name__icontains=text) | Q(labels__icontains=text))

    def labelled(self, label: str) -> TaskQuerySet:
        """Return tasks with the label ``key:value``, or with the key and any value."""
        wanted = Q(labels__has_key=label)
        # Keys and values may hold colons themselves: every way of reading it counts.
        for place in (place for place, letter in enumerate(label) if letter == ":"):
            wanted |= Q(labels__contains={label[:place]: label[place + 1 :]})
        return self.with_labels().filter(wanted)

    def owned(self, owner: str) -> TaskQuerySet:
        """Return tasks of the owner, by the index tasks_of_owner_idx."""
        return self.filter(owner=owner, owner__gt="")

    def with_labels(self) -> TaskQuerySet:
        """Return tasks that have labels; a part of the index tasks_labelled_idx."""
        return self.exclude(labels={})

    def ahead(self, tenant_id: UUID) -> TaskQuerySet:
        """Return the tenant's tasks that have an instant ahead and are not held, soonest first.

        Index task_cursors_of_tenant_idx.
        """
        found = self.for_tenant(tenant_id).filter(
            status=TaskStatus.SCHEDULED,
            cursor__tenant_id=tenant_id,
            cursor__held=False,
            cursor__next_run_at__isnull=False,
        )
        return found.order_by("cursor__next_run_at", "id")


_Tasks = models.Manager.from_queryset(TaskQuerySet)


class TaskManager(_Tasks["Task"]):
    """Tasks with their cursors, read in one statement."""

    def get_queryset(self) -> TaskQuerySet:
        """Return all tasks."""
        return TaskQuerySet(self.model, using=self._db).select_related("cursor")


class PauseQuerySet(TenantQuerySet["Pause"]):
    """Reads of standing pauses."""

    called = "pause"

    def asked_for(self, tenant_id: UUID) -> Self:
        """Return the tenant's pauses, without the pauses of its suspensions."""
        return self.for_tenant(tenant_id).exclude(scope=SUSPENSION)

    def open(self) -> PauseQuerySet:
        """Return the pauses that have not ended."""
        return self.filter(ended_at__isnull=True)


class CalendarQuerySet(TenantQuerySet["Calendar"]):
    """Reads of calendars."""

    called = "calendar"
