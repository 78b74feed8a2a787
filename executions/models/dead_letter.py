"""The dead letter: an execution that failed for good, kept until a person or a program decides."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from executions.querysets import DeadLetterQuerySet
from shared.ids import new_id


class DeadLetter(models.Model):
    """Written in the transaction that fails the execution; exactly one per failed execution.

    The execution sent ``sealed_payload``, or without one the payload of the task's ``revision``.
    ``sealed_edit`` is the payload that a retry used instead, so that the difference is kept.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    task = models.ForeignKey(
        "tasks.Task", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    execution_id = models.UUIDField(unique=True)
    error_code = models.CharField(max_length=30)
    error_message = models.CharField(max_length=1000, default="")
    error_signature = models.CharField(max_length=200)
    attempt_count = models.SmallIntegerField()
    revision = models.PositiveIntegerField()
    sealed_payload = models.BinaryField(null=True)
    sealed_edit = models.BinaryField(null=True)
    resolved = models.BooleanField(default=False)
    resolution = models.CharField(max_length=40, default="")
    note = models.CharField(max_length=1000, default="")
    resolved_by = models.CharField(max_length=200, default="")
    resolved_at = models.DateTimeField(null=True)
    retry_execution_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = DeadLetterQuerySet.as_manager()

    class Meta:
        db_table = "dead_letters"
        indexes = [
            models.Index(fields=["tenant", "resolved", "-id"], name="dead_letters_open_idx"),
            models.Index(
                fields=["tenant", "error_signature"], name="dead_letters_by_signature_idx"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="resolved_dead_letter_says_when",
                condition=Q(resolved=False, resolved_at__isnull=True)
                | Q(resolved=True, resolved_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.error_signature}"
