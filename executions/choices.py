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
    """What made an execution."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    BACKFILL = "backfill"
    RETRY = "retry"
    WORKFLOW = "workflow"


class AttemptOutcome(models.TextChoices):
    """What came of one attempt; lost, timed out and failed are told apart (D3)."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    WORKER_LOST = "WORKER_LOST"
    CANCELLED = "CANCELLED"


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.SKIPPED})
OPEN = frozenset(Status) - FINAL
LEASED = frozenset({Status.QUEUED, Status.RUNNING})


class JobStatus(models.TextChoices):
    """States of a bulk job; STOPPED: it found that too much failed."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    STOPPED = "STOPPED"


JOB_ACTIVE = frozenset({JobStatus.PENDING, JobStatus.RUNNING})


class ItemOutcome(models.TextChoices):
    """What became of one row of a bulk job."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
