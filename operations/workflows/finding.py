"""Finding workflows and their runs by what operators type: an id, or its end as lists show it."""

from __future__ import annotations

from datetime import timedelta

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from executions.models import Execution, WorkflowRun
from insight.workflow_runs import IS_FIRST
from operations.finding import executions_of, find_row, tasks_of
from shared.exceptions import NotFound
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tenants.services import get_tenant

#: A run that has ended is found by the end of its id only within this time.
_RECENT = timedelta(days=1)


def add_workflow(parser: CommandParser) -> None:
    """Add the options that name one workflow."""
    parser.add_argument(
        "id", metavar="ID", help="the id of the workflow, or its end as the list shows it"
    )
    add_tenant(parser)


def add_run(parser: CommandParser) -> None:
    """Add the options that name one run."""
    parser.add_argument("run", metavar="RUN", help="the id of the run, or its end (last day)")
    add_tenant(parser)


def add_runs(parser: CommandParser) -> None:
    """Add the options that name runs."""
    parser.add_argument(
        "ids", metavar="RUN", nargs="+", help="ids of runs, or their ends (last day)"
    )
    add_tenant(parser)
    parser.add_argument("--dry-run", action="store_true", help="show which, change nothing")


def add_tenant(parser: CommandParser) -> None:
    """Add the option that bounds what is found."""
    parser.add_argument("--tenant", help="name or id; every tenant if left out")


def workflows_of(tenant: str | None) -> TaskQuerySet:
    """Return the workflows of the tenant of this name or id, or of all tenants."""
    return tasks_of(tenant).filter(pool=WORKFLOW_POOL)


def find_workflow(text: str, tenant: str | None = None) -> Task:
    """Return the workflow of this id, or the only one whose id ends so; raise NotFound."""
    task: Task = find_row(workflows_of(tenant), text, "workflow")
    return task


def find_run(text: str, tenant: str | None = None) -> Execution:
    """Return the first take of the run of this id, or of the only one whose id ends so.

    By the end of the id it finds runs of the last day, and those that have not ended.
    """
    runs = executions_of(tenant).filter(IS_FIRST, pool=WORKFLOW_POOL)
    now = database_now()
    found: Execution
    try:
        found = find_row(
            runs, text, "run", among=runs.scheduled_between(now - _RECENT, now + _RECENT)
        )
    except NotFound:
        live = WorkflowRun.objects.all()
        if tenant is not None:
            live = live.filter(tenant_id=get_tenant(tenant).id)
        found = runs.get(pk=find_row(live, text, "run").pk)
    return found
