"""Replay into another pool or URL: which executions fit, and the version for each task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q

from executions.triggering.triggers import Route
from shared.actor import Actor
from tasks.calendars import limits_of
from tasks.definition import (
    PULL_PREFIX,
    WEBHOOK_POOL,
    destination_of,
    pool_of,
    runtime_seconds,
)
from tasks.models import Task
from tasks.pools import pools_of
from tasks.redirection import redirected
from tasks.revisions import definition_of, find_redirected, read_definition, write_redirected


def unfit(tenant_id: UUID, rows: Any, into: Mapping[str, str]) -> Any:
    """Return a tenant's executions whose task's kind of target does not fit the place."""
    tasks = Task.objects.filter(tenant_id=tenant_id)
    webhook, pulled = Q(pool=WEBHOOK_POOL), Q(pool__startswith=PULL_PREFIX)
    if "url" in into:
        without = tasks.exclude(webhook)
    elif into["pool"] in pools_of(tenant_id)():
        without = tasks.filter(webhook)
    else:
        without = tasks.filter(webhook | pulled)
    return rows.filter(task_id__in=without.values("id"))


def route_for(job_id: UUID, task: Task, into: Mapping[str, str], actor: Actor) -> Route:
    """Return the route of a locked task's executions in a replay; the first one makes the version.

    Raise Conflict or InvalidInput where the task's target cannot go there.
    """
    found = find_redirected(task, job_id)
    if found is None:
        aimed = redirected(read_definition(task), into, limits_of(task.tenant_id))
        found = write_redirected(task, aimed, job_id, actor.name)
    aim = definition_of(found)
    return Route(
        version=found.version,
        pool=pool_of(aim.target),
        destination=destination_of(aim.target),
        max_attempts=aim.retry_policy["max_attempts"],
        timeout_seconds=runtime_seconds(aim.target),
    )
