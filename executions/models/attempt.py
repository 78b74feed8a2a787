"""The attempt: one try of an execution, appended when its outcome is recorded."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from executions.choices import AttemptOutcome


class Attempt(models.Model):
    """The record of one try and its answer; never changed once written.

    ``sealed_response`` holds the captured headers and body, encrypted. Timings are in
    milliseconds by phase (dns, connect, tls, first_byte, total). Partitioned by day on ``id``,
    which carries the execution's time prefix: :func:`executions.attempts.of_id` finds one by its
    id alone.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    execution = models.ForeignKey(
        "executions.Execution",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="attempts",
    )
    tenant_id = models.UUIDField()
    number = models.SmallIntegerField()
    fencing_token = models.BigIntegerField()
    worker = models.CharField(max_length=120, default="")
    due_at = models.DateTimeField(null=True)
    queued_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=11, choices=AttemptOutcome.choices)
    error_code = models.CharField(max_length=30, default="")
    error_message = models.CharField(max_length=1000, default="")
    response_status = models.SmallIntegerField(null=True)
    timings = models.JSONField(default=dict)
    sealed_response = models.BinaryField(null=True)

    class Meta:
        db_table = "attempts"
        constraints = [
            # The only index: an attempt's id is derived from its execution's and found with it.
            models.UniqueConstraint(fields=["execution", "id"], name="attempts_of_execution_idx"),
            models.CheckConstraint(
                name="attempt_outcome_is_known", condition=Q(outcome__in=AttemptOutcome.values)
            ),
            models.CheckConstraint(name="attempt_number_from_one", condition=Q(number__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.execution_id} #{self.number} {self.outcome}"
