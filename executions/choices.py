"""Enums of stored values of the runtime."""

from __future__ import annotations

from django.db import models


class Status(models.TextChoices):
    """States of an execution."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


class Trigger(models.TextChoices):
    """Causes for which an execution is made."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    BACKFILL = "backfill"
    RETRY = "retry"
    WORKFLOW = "workflow"


class AttemptOutcome(models.TextChoices):
    """Outcomes of one attempt; lost, timed out and failed are different outcomes."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    WORKER_LOST = "WORKER_LOST"
    CANCELLED = "CANCELLED"


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.SKIPPED})
OPEN = frozenset(Status) - FINAL
LEASED = frozenset({Status.QUEUED, Status.RUNNING})


class RunPhase(models.TextChoices):
    """What a run of a workflow does; in all but the first it begins no step, or only some."""

    RUNNING = "running"
    #: By a person, until it is resumed.
    PAUSED = "paused"
    #: A step has failed, and only steps for failures begin.
    FAILING = "failing"
    CANCELLING = "cancelling"
    #: It has failed, and what has succeeded is undone, the last first.
    COMPENSATING = "compensating"


#: The number, in place of an item's, of what undoes a step of a workflow.
COMPENSATION = -2


class JobStatus(models.TextChoices):
    """States of a bulk job; STOPPED: it ended by itself, because too much failed."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    STOPPED = "STOPPED"


JOB_ACTIVE = frozenset({JobStatus.PENDING, JobStatus.RUNNING})


class ItemOutcome(models.TextChoices):
    """Outcomes of one row of a bulk job."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
