"""Answers of the calls about statistics, workers and schedulers, and of tests of a delivery.

They only describe; ``insight.presentation.statistics`` makes them.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.executions.serializers import (
    CapturedResponse,
    ExecutionError,
    SentRequestWithBody,
    Timings,
)
from api.protocol.serializers import StrictDateTimeField
from api.receiver.serializers import ReceivedRequest
from executions.choices import AttemptOutcome

Answer = serializers.Serializer[Any]

WORKER_KINDS = ("worker", "pull_worker")
WORKER_STATES = ("live", "quiet", "draining", "lost")


class StartDelaySerializer(Answer):
    """Start delays of first attempts; each percentile is the upper bound of its bucket.

    60,000 also covers every longer delay; null without a start.
    """

    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)
    count = serializers.IntegerField()


class LastHour(Answer):
    """What ended in the last hour; `success_rate` is from 0 to 1.

    `succeeded` and `failed` count executions of tasks, and runs of workflows once each; `retried`,
    `late` and the start delay count calls, those of steps as well.
    """

    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    retried = serializers.IntegerField()
    late = serializers.IntegerField()
    success_rate = serializers.FloatField(allow_null=True)
    start_delay_ms = StartDelaySerializer()


class OverviewSerializer(Answer):
    """Open work of this moment; where `exact` is false its counts say "at least"."""

    at = StrictDateTimeField()
    due_now = serializers.IntegerField()
    late = serializers.IntegerField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    retrying = serializers.IntegerField()
    exact = serializers.BooleanField()
    oldest_due_seconds = serializers.FloatField(allow_null=True)
    dead_letters_open = serializers.IntegerField(help_text="10,000 says at least that.")
    paused_tasks = serializers.IntegerField(help_text="10,000 says at least that.")
    standing_pauses = serializers.IntegerField(help_text="Pauses that have not ended.")
    last_hour = LastHour()


class MinuteSerializer(Answer):
    """The attempts that ended within one minute, also of steps; `start_delays` counts by bucket."""

    minute = StrictDateTimeField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    retried = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    late = serializers.IntegerField()
    start_delays = serializers.ListField(child=serializers.IntegerField())


class ThroughputAnswer(Answer):
    """Minutes, oldest first, and the upper bounds of the buckets; one bucket more is above them."""

    minutes = MinuteSerializer(many=True)
    bucket_bounds_ms = serializers.ListField(child=serializers.IntegerField())


class UsageFigures(Answer):
    """What has been used: executions are calls of tasks and of steps of workflows.

    Each counts on the day on which its attempt ended. `executions_started` counts first attempts,
    `execution_seconds` adds up the durations of attempts, `recorded_bytes` the answers and logs
    that attempts keep, as they are stored (encrypted, cut at the capture limit).
    """

    executions_started = serializers.IntegerField()
    executions_succeeded = serializers.IntegerField()
    executions_failed = serializers.IntegerField()
    executions_cancelled = serializers.IntegerField()
    attempts = serializers.IntegerField()
    execution_seconds = serializers.FloatField()
    recorded_bytes = serializers.IntegerField()
    workflow_runs_succeeded = serializers.IntegerField()
    workflow_runs_failed = serializers.IntegerField()


class UsageDaySerializer(UsageFigures):
    """The usage of one day in UTC."""

    day = serializers.DateField()


class UsageAnswer(Answer):
    """The days, oldest first, empty ones too, and their sums."""

    def get_fields(self) -> dict[str, Any]:
        """Name the first day `from`, which no attribute of a class can be called."""
        return {"from": serializers.DateField(), **super().get_fields()}

    to = serializers.DateField()
    days = UsageDaySerializer(many=True)
    total = UsageFigures()


class ShareMinuteSerializer(Answer):
    """A minute in which work of the tenant waited for the capacity of a pool."""

    minute = serializers.DateTimeField()
    due = serializers.FloatField()
    received = serializers.IntegerField()
    oldest_wait_seconds = serializers.FloatField()


class PoolShare(Answer):
    """The tenant's share of a pool while that was scarce.

    `received` executions went to workers. `due` is the part of all of them that the tenant's weight
    would give it, as far as it had work; `ratio` is received by due.
    """

    pool = serializers.CharField()
    scarce_minutes = serializers.IntegerField()
    due = serializers.FloatField()
    received = serializers.IntegerField()
    ratio = serializers.FloatField(allow_null=True)
    oldest_wait_seconds = serializers.FloatField()
    by_minute = ShareMinuteSerializer(many=True)


class SharesAnswer(Answer):
    """The tenant's weight, and the pools that were scarce within the last `minutes`."""

    weight = serializers.IntegerField()
    minutes = serializers.IntegerField()
    pools = PoolShare(many=True)


class WorkerSerializer(Answer):
    """A worker as it last described itself; a pull worker has in flight what it has leased.

    Of the installation's own workers, which serve all tenants, the id is a substitute, and host,
    version and load are null, unless the operator shows them (`PROCESSES_PUBLIC`).
    """

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=WORKER_KINDS)
    name = serializers.CharField()
    host = serializers.CharField(allow_null=True)
    pool = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=WORKER_STATES)
    settled = serializers.BooleanField(
        help_text="False while it has not read yet that it is to be quiet, or to work again."
    )
    silent_seconds = serializers.FloatField()
    capacity = serializers.IntegerField()
    in_flight = serializers.IntegerField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    cpu_percent = serializers.FloatField(allow_null=True)
    memory_bytes = serializers.IntegerField(allow_null=True)


class RecorderSerializer(Answer):
    """A recorder; it has received `pending` outcomes that it has not written yet.

    Null unless the operator shows processes (`PROCESSES_PUBLIC`).
    """

    name = serializers.CharField()
    live = serializers.BooleanField()
    silent_seconds = serializers.FloatField()
    pending = serializers.IntegerField(allow_null=True)


class WorkersAnswer(Answer):
    """The workers and the recorders."""

    workers = WorkerSerializer(many=True)
    recorders = RecorderSerializer(many=True)


class WorkerMinuteSerializer(Answer):
    """One minute of a worker: its load from a heartbeat, and the attempts that ended within it."""

    minute = StrictDateTimeField()
    pool = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    capacity = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    held = serializers.IntegerField()
    ended = serializers.IntegerField(
        allow_null=True,
        help_text="Attempts that ended within the minute; null where an older version told it.",
    )
    cpu_percent = serializers.FloatField()
    memory_bytes = serializers.IntegerField(allow_null=True)


class WorkerHourSerializer(Answer):
    """One hour of a worker: means and maxima over the `minutes` in which it was heard."""

    hour = StrictDateTimeField()
    pool = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    minutes = serializers.IntegerField()
    capacity = serializers.IntegerField()
    in_flight = serializers.FloatField()
    most_in_flight = serializers.IntegerField()
    held = serializers.FloatField()
    most_held = serializers.IntegerField()
    ended = serializers.IntegerField(allow_null=True)
    cpu_percent = serializers.FloatField()
    most_cpu_percent = serializers.FloatField()
    most_memory_bytes = serializers.IntegerField(allow_null=True)


class WorkerHistoryAnswer(Answer):
    """Minutes or hours in which the worker was heard, oldest first; the other list is empty."""

    worker = serializers.CharField()
    minutes = WorkerMinuteSerializer(many=True)
    hours = WorkerHourSerializer(many=True)


class EarlierWorkerSerializer(Answer):
    """A worker by its hours; `ended` counts the attempts that ended in them."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=WORKER_KINDS)
    pool = serializers.CharField()
    host = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    first_hour = StrictDateTimeField()
    last_hour = StrictDateTimeField()
    ended = serializers.IntegerField(allow_null=True)


class EarlierWorkersAnswer(Answer):
    """Workers by the hours that are over, the latest heard first."""

    workers = EarlierWorkerSerializer(many=True)


class SchedulerSerializer(Answer):
    """A scheduler heard of within the last hour.

    `host` and `partitions` are null unless the operator shows processes (`PROCESSES_PUBLIC`).
    """

    id = serializers.UUIDField()
    name = serializers.CharField()
    host = serializers.CharField(allow_null=True)
    live = serializers.BooleanField()
    silent_seconds = serializers.FloatField()
    started_at = StrictDateTimeField()
    partitions = serializers.IntegerField(allow_null=True)


class PartitionSerializer(Answer):
    """A partition of the tasks, and whether a scheduler owns it: else its tasks wait.

    `owner` is its scheduler's id, null without one, and always unless the operator shows processes
    (`PROCESSES_PUBLIC`).
    """

    partition = serializers.IntegerField()
    owner = serializers.UUIDField(allow_null=True)
    owned = serializers.BooleanField()
    epoch = serializers.IntegerField()
    expires_at = StrictDateTimeField(allow_null=True)


class SchedulersAnswer(Answer):
    """The schedulers and their partitions."""

    schedulers = SchedulerSerializer(many=True)
    partitions = PartitionSerializer(many=True)


class DeliveryTestAnswer(Answer):
    """The request of one test delivery and its result."""

    outcome = serializers.ChoiceField(choices=AttemptOutcome.choices)
    would_retry = serializers.BooleanField()
    error = ExecutionError(allow_null=True)
    request = SentRequestWithBody()
    response = CapturedResponse(allow_null=True)
    timings = Timings()
    received = ReceivedRequest(
        allow_null=True,
        help_text="With `to=receiver`, the request as it arrived; null where none did, and of "
        "other tests.",
    )
