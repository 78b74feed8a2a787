"""The execution: one occurrence of a task in the ledger, due at one instant."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from executions.choices import FINAL, LEASED, Status, Trigger
from executions.querysets import ExecutionQuerySet
from shared.trace_context import MAX_LENGTH
from tasks.choices import CONCURRENCY_KEY_LENGTH


class Execution(models.Model):
    """An expected instant and its outcome; the unit of dispatch.

    ``scheduled_for`` is the nominal time, ``due_at`` the time after jitter and backoff; they never
    mix. ``attempt`` counts attempts started. The table has two parts, which PostgreSQL keeps apart
    by ``status``: ``open_executions`` has the unfinished ones; ``ended_executions`` has the ended
    ones, written once, in days by the first 48 bits of ``id``, the nominal millisecond. A filter by
    status reads one part, no filter both. Each part has indexes of its own, which migrations make;
    there are no foreign keys in the database. A span row covers ``span_count`` instants up to
    ``span_last`` that did not run, with one reason. While ``gated`` (and ``held`` with it) an
    execution waits for its turn: only the gate admits it, when the overlap policy and the limit of
    its task, or of its bulk job, allow. From then until its end it is ``counted``: it takes one of
    the places that these allow. ``gave_way`` marks a run that was counted and has given its place
    to another one: it waits for its turn again. ``series_id`` is the bulk job that made it.
    ``destination`` is the host that a webhook calls; while ``parked`` the execution is due and
    waits for capacity of its destination. ``accepted_at`` is when a job went on without a worker of
    ours, at a receiver that answered 202 or a worker that has leased it: from then on heartbeats
    keep its lease. ``run_id``, ``step``, ``item`` and ``take`` are set where a run of a workflow
    has begun it: the run, the step's number, that of a fan-out's item and the run's take.
    ``concurrency_key`` is the key that it shares with other work; while that has no place for it,
    ``key_place`` is 0, or -1 if a pause keeps it from asking, and it is ``held``. With a place it
    is 1, or 2 for a place that it keeps through its retries.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    task = models.ForeignKey(
        "tasks.Task",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="executions",
    )
    partition = models.SmallIntegerField()
    priority = models.SmallIntegerField(default=5, db_default=5)
    pool = models.CharField(max_length=63, default="default")
    destination = models.CharField(max_length=260, db_default="", default="")
    revision = models.PositiveIntegerField()
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.PENDING)
    reason = models.CharField(max_length=40, default="")
    trigger = models.CharField(max_length=8, choices=Trigger.choices, default=Trigger.SCHEDULE)
    scheduled_for = models.DateTimeField()
    due_at = models.DateTimeField()
    queued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    start_delay_ms = models.FloatField(null=True)
    attempt = models.SmallIntegerField(default=0)
    max_attempts = models.SmallIntegerField(default=5)
    lost_count = models.SmallIntegerField(default=0)
    timeout_seconds = models.FloatField(default=30)
    fencing_token = models.BigIntegerField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    incarnation = models.CharField(max_length=80, default="")
    worker = models.CharField(max_length=120, default="")
    held = models.BooleanField(default=False)
    gated = models.BooleanField(db_default=False, default=False)
    counted = models.BooleanField(db_default=False, default=False)
    parked = models.BooleanField(db_default=False, default=False)
    series_id = models.UUIDField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    response_status = models.SmallIntegerField(null=True)
    error_code = models.CharField(max_length=30, default="")
    error_message = models.CharField(max_length=1000, default="")
    accepted_at = models.DateTimeField(null=True)
    sealed_payload = models.BinaryField(null=True)
    sealed_progress = models.BinaryField(null=True)
    sealed_result = models.BinaryField(null=True)
    parent_id = models.UUIDField(null=True)
    #: Set only where it continues the trace of the call that made it: null takes no space.
    trace_context = models.CharField(max_length=MAX_LENGTH, null=True)
    run_id = models.UUIDField(null=True)
    step = models.SmallIntegerField(null=True)
    item = models.IntegerField(null=True)
    take = models.SmallIntegerField(null=True)
    concurrency_key = models.CharField(
        max_length=CONCURRENCY_KEY_LENGTH, null=True, db_collation="C"
    )
    key_place = models.SmallIntegerField(null=True)
    #: True or null, which takes no space.
    gave_way = models.BooleanField(null=True)
    span_last = models.DateTimeField(null=True)
    span_count = models.PositiveBigIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    #: Not written since the priority is; exported days have it, and are restored with it.
    band = models.SmallIntegerField(null=True)

    objects = ExecutionQuerySet.as_manager()

    class Meta:
        db_table = "executions"
        constraints = [
            models.CheckConstraint(
                name="execution_status_is_known", condition=Q(status__in=Status.values)
            ),
            models.CheckConstraint(
                name="finished_exactly_in_final_states",
                condition=Q(status__in=sorted(FINAL), finished_at__isnull=False)
                | (~Q(status__in=sorted(FINAL)) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="leased_exactly_when_queued_or_running",
                condition=Q(
                    status__in=sorted(LEASED),
                    lease_expires_at__isnull=False,
                    fencing_token__isnull=False,
                )
                | (~Q(status__in=sorted(LEASED)) & Q(lease_expires_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="attempt_is_within_bounds",
                condition=Q(attempt__gte=0, max_attempts__gte=1),
            ),
            models.CheckConstraint(
                name="gated_work_is_pending_and_held",
                condition=Q(gated=False) | Q(status=Status.PENDING, held=True),
            ),
            models.CheckConstraint(
                name="span_rows_are_skipped",
                condition=Q(span_count__isnull=True) | Q(status=Status.SKIPPED),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.status}"
