"""Bodies and answers of the calls about workflows and their runs.

Serializers named ``…Body`` validate bodies. The others only describe answers, which
``insight.presentation`` makes.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.executions.serializers import AnyJSONField, ExecutionError
from api.protocol.schema import Pagination
from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from api.tasks.definition_serializers import DocumentedSerializer
from api.workflows import schemas
from executions.choices import Status
from insight.run_waits import KINDS, MOST_WAITS
from tasks.limits import FAN_OUT_ITEMS, NAME_LENGTH, STEP_KEY_LENGTH
from workflows.retrying import MOST_TAKES

Answer = serializers.Serializer[Any]

#: The status of a run is that of its latest take, which no worker runs.
RUN_STATUSES = tuple(
    status.value for status in Status if status not in (Status.QUEUED, Status.RETRYING)
)
STEP_STATUSES = ("PENDING", "WAITING", *(one for one in Status.values if one != "PENDING"))
COMPENSATION_STATUSES = ("QUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "CANCELLED")
WAITS_FOR = ("delay", "event", "approval", "retry", "destination", "pause")
SCOPES = ("all", "not_started", "downstream")


class WorkflowCreateSerializer(DocumentedSerializer):
    """The body of creating or replacing a workflow."""

    json_schema = schemas.WORKFLOW_CREATE


class WorkflowEditSerializer(DocumentedSerializer):
    """The body of editing a workflow."""

    json_schema = schemas.WORKFLOW_EDIT


class WorkflowSerializer(DocumentedSerializer):
    """A workflow as answered."""

    json_schema = schemas.WORKFLOW


class WorkflowRevisionSerializer(DocumentedSerializer):
    """A version of a workflow."""

    json_schema = schemas.WORKFLOW_REVISION


class StartRunBody(StrictSerializer):
    """The input of a run; null is the same as none."""

    input = AnyJSONField(required=False, help_text="Checked by the workflow's `input_schema`.")


class CancelRunBody(StrictSerializer):
    """What of the run is cancelled."""

    scope = StrictChoiceField(choices=SCOPES, default="all")
    key = StrictCharField(
        max_length=STEP_KEY_LENGTH,
        required=False,
        help_text="With scope `downstream`: the step that is cancelled with all behind it.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Take a key exactly with the scope that names one."""
        if (attrs["scope"] == "downstream") != ("key" in attrs):
            message = "Give a key with the scope downstream, and only with it."
            raise serializers.ValidationError({"key": [message]}, code="conflict")
        return attrs


class RetryRunBody(StrictSerializer):
    """What the next take runs again, and by which version and input."""

    version = StrictChoiceField(
        choices=("original", "latest"),
        default="original",
        help_text="Of the workflow: that of the run, or the current one.",
    )
    input = AnyJSONField(required=False, help_text="Another input; left out, the same again.")
    cancel_running = StrictBooleanField(
        default=False,
        help_text="Of an open run: cancel it first. The take begins when what runs has ended.",
    )

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; ``from`` is a word of Python."""
        described = "`failed`: all steps that have failed, or the key of the step to begin from."
        begin = StrictCharField(max_length=STEP_KEY_LENGTH, default="failed", help_text=described)
        return {"from": begin, **super().get_fields()}


class SkipStepBody(StrictSerializer):
    """The item of a fan-out that is skipped; left out, the whole step."""

    item = StrictIntegerField(
        min_value=0,
        max_value=FAN_OUT_ITEMS - 1,
        required=False,
        help_text="Of a fan-out: the number of an item that has not begun.",
    )


class SucceedStepBody(SkipStepBody):
    """The output that the step, or its item, is given; left out, it has none."""

    output = AnyJSONField(required=False)


class ApproveStepBody(StrictSerializer):
    """A decision about a step that waits for an approval."""

    approved = StrictBooleanField()
    take = StrictIntegerField(
        min_value=1,
        max_value=MOST_TAKES,
        help_text="The take that the approval was shown for, `waiting_for.take` of the step.",
    )
    note = StrictCharField(max_length=1000, allow_blank=True, default="")


class SignalBody(StrictSerializer):
    """A signal; its payload becomes the output of the steps that it releases."""

    name = StrictCharField(max_length=NAME_LENGTH)
    correlation = StrictCharField(max_length=NAME_LENGTH, allow_blank=True, default="")
    payload = AnyJSONField(required=False)


class SignalSerializer(Answer):
    """A signal that was sent."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    correlation = serializers.CharField(allow_blank=True)
    released = serializers.IntegerField(help_text="How many steps waited for it.")


class StepWaitsFor(Answer):
    """What a step waits for, and until when if that is known."""

    kind = serializers.ChoiceField(choices=WAITS_FOR)
    until = StrictDateTimeField(allow_null=True)
    event = serializers.CharField(required=False, help_text="Of kind `event`: the signal's name.")
    correlation = serializers.CharField(required=False, help_text="Of kind `event`.")
    take = serializers.IntegerField(
        required=False, help_text="Of kind `approval`: the take that a decision names."
    )


class CompensationSerializer(Answer):
    """What undoes a step of a run that has failed."""

    status = serializers.ChoiceField(
        choices=COMPENSATION_STATUSES,
        help_text="`SUCCEEDED`: the step was undone; `FAILED`, `CANCELLED`: it was not.",
    )
    execution_id = serializers.UUIDField(allow_null=True)
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField(allow_null=True)
    error = ExecutionError(allow_null=True)


class RunStepSerializer(Answer):
    """A step of a run, or an item of a fan-out."""

    key = serializers.CharField()
    item = serializers.IntegerField(
        allow_null=True, help_text="The number of the item from 0; null for a step."
    )
    status = serializers.ChoiceField(choices=STEP_STATUSES)
    reason = serializers.CharField(allow_null=True)
    execution_id = serializers.UUIDField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField(allow_null=True)
    output = AnyJSONField(
        help_text="Kept only where the definition names it; null for a step that is `sensitive`."
    )
    error = ExecutionError(allow_null=True)
    waiting_for = StepWaitsFor(allow_null=True)
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Of a fan-out: how many items have which status; else null.",
    )
    compensation = CompensationSerializer(
        allow_null=True, help_text="Of a step that is or was to be undone; else null."
    )


class RunWaitsFor(Answer):
    """One thing that a run waits for."""

    kind = serializers.ChoiceField(choices=KINDS)
    step = serializers.CharField(
        allow_null=True, help_text="The key of the step; null where the whole run waits."
    )
    until = StrictDateTimeField(allow_null=True)
    done = serializers.IntegerField(
        allow_null=True, help_text="Of kind `items`: how many items have ended."
    )
    total = serializers.IntegerField(allow_null=True, help_text="Of kind `items`: of how many.")


class RunSummarySerializer(Answer):
    """A run as lists show it: its latest take."""

    id = serializers.UUIDField()
    take = serializers.IntegerField(help_text="Each retry of the run is another take.")
    execution_id = serializers.UUIDField(help_text="The execution of the take.")
    workflow_id = serializers.UUIDField()
    workflow_version = serializers.IntegerField()
    status = serializers.ChoiceField(choices=RUN_STATUSES)
    reason = serializers.CharField(allow_null=True)
    input = AnyJSONField()
    scheduled_for = StrictDateTimeField()
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField(allow_null=True)
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many steps have which status."
    )
    waiting_for = RunWaitsFor(
        many=True,
        help_text=f"Its pause, its place, its open steps, its deadline, {MOST_WAITS} at most;"
        " empty where the run has ended.",
    )
    missing = serializers.CharField(
        required=False, help_text="Only where something sealed cannot be opened: why."
    )


class RunSerializer(RunSummarySerializer):
    """A run with every step, in the order of the definition."""

    steps = RunStepSerializer(many=True)


class RunStepItemsPage(Answer):
    """The items of a fan-out, in their order."""

    items = RunStepSerializer(many=True)
    pagination = Pagination()
