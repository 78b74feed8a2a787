"""``POST /v1/tasks/import``: the jobs of a crontab as paused tasks."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictSerializer,
)
from api.protocol.views import PunctualView
from executions.changes.importing import Action
from executions.changes.pasted_crontab import (
    DEFAULT_SOURCE,
    MOST_CHARACTERS,
    SOURCE_LENGTH,
    PastedCrontab,
    run_import,
)
from insight.presentation.import_plan import present_plan
from tasks.limits import URL_LENGTH

_ZONE_LENGTH = 64


class ImportBody(StrictSerializer):
    """A crontab, as `crontab -l` prints it, and the webhook that its tasks call."""

    crontab = StrictCharField(max_length=MOST_CHARACTERS, trim_whitespace=False)
    url = StrictCharField(max_length=URL_LENGTH)
    source = NameField(  # type: ignore[assignment]  # REST framework takes fields out of the class
        max_length=SOURCE_LENGTH,
        default=DEFAULT_SOURCE,
        help_text="The file's name. A later import under the same name makes no task twice.",
    )
    timezone = StrictCharField(
        max_length=_ZONE_LENGTH, default="UTC", help_text="Of lines without CRON_TZ above them."
    )
    system = StrictBooleanField(
        default=False, help_text="Each command has a user before it, as in /etc/crontab."
    )


class ImportCallBody(ImportBody):
    """The same, and whether it is only planned."""

    dry_run = StrictBooleanField(default=False, help_text="Only show the plan.")


class ImportSummary(serializers.Serializer[Any]):
    """How many lines have each action."""

    new = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    refused = serializers.IntegerField()


class ImportedLine(serializers.Serializer[Any]):
    """One line of the plan; a refused one has a reason and no task."""

    line = serializers.IntegerField()
    action = serializers.ChoiceField(choices=[str(action) for action in Action])
    text = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField())
    task_id = serializers.UUIDField(
        allow_null=True, required=False, help_text="Null of a task that is only planned."
    )
    name = serializers.CharField(required=False)
    schedule = serializers.DictField(required=False)
    schedule_text = serializers.CharField(required=False)
    next = serializers.ListField(child=StrictDateTimeField(), required=False)


class ImportPlan(serializers.Serializer[Any]):
    """What the import has done, or would do."""

    dry_run = serializers.BooleanField()
    summary = ImportSummary()
    lines = serializers.ListField(child=ImportedLine())


class ImportTasksView(PunctualView):
    """Import a crontab."""

    receipt = frozenset({"dry_run", "summary"})

    @extend_schema(operation_id="import_tasks", request=ImportCallBody, responses=ImportPlan)
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Make a paused task of each job of a crontab, all together; `dry_run` only plans.

        A line that cannot be taken over is `refused` with its reason, and the others are imported.
        A line that was imported under the same `source` before is `unchanged`. At most 1,000 jobs.
        """
        body = self.read_body(ImportCallBody)
        dry_run = body.pop("dry_run")
        pasted = PastedCrontab(**body)
        plan = run_import(self.tenant_id, pasted, actor=self.actor, dry_run=dry_run)
        return Response(present_plan(plan, dry_run=dry_run))
