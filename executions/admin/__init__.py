"""The runtime in the admin: tasks with their actions, the ledger, dead letters, machinery."""

from __future__ import annotations

from executions.admin.bulk_jobs import BulkJobAdmin
from executions.admin.calendars import CalendarAdmin
from executions.admin.dead_letters import DeadLetterAdmin
from executions.admin.destinations import DestinationAdmin, PoolAdmin
from executions.admin.erasures import ErasureAdmin
from executions.admin.housekeeping import HousekeepingAdmin
from executions.admin.ledger import AttemptAdmin, ExecutionAdmin
from executions.admin.machinery import (
    PartitionLeaseAdmin,
    SchedulerNodeAdmin,
    UnownedStretchAdmin,
    WorkerHourAdmin,
    WorkerMinuteAdmin,
)
from executions.admin.pauses import PauseAdmin
from executions.admin.tasks import TaskAdmin
from executions.admin.workflows import EndedWorkflowRunAdmin, WorkflowRunAdmin, WorkflowStepAdmin

__all__ = [
    "AttemptAdmin",
    "BulkJobAdmin",
    "CalendarAdmin",
    "DeadLetterAdmin",
    "DestinationAdmin",
    "EndedWorkflowRunAdmin",
    "ErasureAdmin",
    "ExecutionAdmin",
    "HousekeepingAdmin",
    "PartitionLeaseAdmin",
    "PauseAdmin",
    "PoolAdmin",
    "SchedulerNodeAdmin",
    "TaskAdmin",
    "UnownedStretchAdmin",
    "WorkerHourAdmin",
    "WorkerMinuteAdmin",
    "WorkflowRunAdmin",
    "WorkflowStepAdmin",
]
