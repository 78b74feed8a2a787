"""The models of the runtime."""

from __future__ import annotations

from executions.models.attempt import Attempt
from executions.models.bulk_job import BulkJob
from executions.models.bulk_job_item import BulkJobItem
from executions.models.dead_letter import DeadLetter
from executions.models.destination import Destination
from executions.models.erasure import Erasure
from executions.models.execution import Execution
from executions.models.metric_total import MetricTotal
from executions.models.minute_stat import MinuteStat
from executions.models.objective_count import ObjectiveCount
from executions.models.objective_hour import ObjectiveHour
from executions.models.partition_lease import PartitionLease
from executions.models.pool import Pool
from executions.models.scheduler_node import SchedulerNode
from executions.models.share_minute import ShareMinute
from executions.models.target_day import TargetDay
from executions.models.unowned_stretch import UnownedStretch
from executions.models.usage_day import UsageDay
from executions.models.worker_hour import WorkerHour
from executions.models.worker_minute import WorkerMinute
from executions.models.workflow_run import EndedWorkflowRun, WorkflowRun
from executions.models.workflow_step import WorkflowStep

__all__ = [
    "Attempt",
    "BulkJob",
    "BulkJobItem",
    "DeadLetter",
    "Destination",
    "EndedWorkflowRun",
    "Erasure",
    "Execution",
    "MetricTotal",
    "MinuteStat",
    "ObjectiveCount",
    "ObjectiveHour",
    "PartitionLease",
    "Pool",
    "SchedulerNode",
    "ShareMinute",
    "TargetDay",
    "UnownedStretch",
    "UsageDay",
    "WorkerHour",
    "WorkerMinute",
    "WorkflowRun",
    "WorkflowStep",
]
