"""Bodies and answers of the calls that act on many rows."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.executions.serializers import AnyJSONField
from api.protocol.schema import Pagination
from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictDictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictSerializer,
    StrictUUIDField,
)
from api.tasks.schemas import TASK_EDIT
from executions.bulk.options import REPLAY_RATE
from executions.bulk.scope import ACTIONS, KINDS, MAX_IDS, MAX_ITEMS
from executions.choices import ItemOutcome, JobStatus, Status
from tasks.choices import TaskStatus, TaskType
from tasks.limits import (
    LABEL_KEY_LENGTH,
    LABEL_VALUE_LENGTH,
    OWNER_LENGTH,
    POOL_NAME_LENGTH,
    URL_LENGTH,
)

Answer = serializers.Serializer[Any]

#: Fields of a body that say what to act on; all others are options of the action.
SCOPE_FIELDS = ("action", "filter", "dry_run", "name", "expected_count")
_MAX_TEXT = 200


class _Ids(StrictListField):
    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=StrictUUIDField(), max_length=MAX_IDS, help_text="Exactly these.", **options
        )


class _Statuses(StrictListField):
    def __init__(self, *, choices: Any, **options: Any) -> None:
        super().__init__(
            child=StrictChoiceField(choices=choices),
            min_length=1,
            help_text="One or more states.",
            **options,
        )


class LetterFilter(StrictSerializer):
    """Which dead letters; an empty object means all that are open.

    Open ones, unless ``resolved`` is true or ``resolution`` names the word of their resolution.
    """

    task = StrictUUIDField(required=False)
    error_signature = StrictCharField(required=False, max_length=_MAX_TEXT)
    q = StrictCharField(required=False, max_length=_MAX_TEXT)
    resolved = StrictBooleanField(required=False)
    resolution = StrictCharField(required=False, max_length=40)
    ids = _Ids(required=False)


class TaskFilter(StrictSerializer):
    """Which tasks; an empty object means all."""

    status = _Statuses(choices=TaskStatus.values, required=False)
    type = StrictChoiceField(choices=TaskType.values, required=False)
    label = StrictCharField(  # type: ignore[assignment]  # a filter's name, not the label of this
        required=False,
        max_length=LABEL_KEY_LENGTH + 1 + LABEL_VALUE_LENGTH,
        help_text="`key:value`, or a key that must be there.",
    )
    owner = StrictCharField(
        required=False, max_length=OWNER_LENGTH, help_text="Exactly this owner."
    )
    q = StrictCharField(required=False, max_length=_MAX_TEXT)
    ids = _Ids(required=False)


class ExecutionFilter(StrictSerializer):
    """Which executions; without states or ids, cancelling takes unfinished, retrying FAILED."""

    status = _Statuses(choices=Status.values, required=False)
    task = StrictUUIDField(required=False)
    label = StrictCharField(  # type: ignore[assignment]  # a filter's name, not the label of this
        required=False,
        max_length=LABEL_KEY_LENGTH + 1 + LABEL_VALUE_LENGTH,
        help_text="Of tasks with `key:value`, or with a key.",
    )
    since = StrictDateTimeField(required=False)
    until = StrictDateTimeField(required=False)
    q = StrictCharField(required=False, max_length=_MAX_TEXT)
    ids = _Ids(required=False)


class _ActionBody(StrictSerializer):
    dry_run = StrictBooleanField(
        default=False, help_text="Only count: 200 with the scope, and nothing changes."
    )
    name = NameField(default="", allow_blank=True, max_length=200)
    expected_count = StrictIntegerField(
        required=False,
        min_value=0,
        max_value=MAX_ITEMS,
        help_text="Refuse (409 `scope_changed`) unless exactly this number of rows matches.",
    )
    rate_per_second = StrictNumberField(required=False, min_value=0.1, max_value=1000)


class _MakingBody(_ActionBody):
    canary = StrictIntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ITEMS,
        help_text="Do this many first and wait until their executions have ended.",
    )
    stop_on_failure_rate = StrictNumberField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="Stop when a greater share fails; after a canary 0 unless given.",
    )
    payload = AnyJSONField(required=False, help_text="Send this instead of each row's payload.")


class LetterActionBody(_MakingBody):
    """An action on many dead letters."""

    action = StrictChoiceField(choices=ACTIONS["dead_letters"])
    filter = LetterFilter()
    resolution = StrictCharField(required=False, max_length=40)
    note = StrictCharField(required=False, allow_blank=True, max_length=1000)


@extend_schema_field(
    {
        **TASK_EDIT,
        "properties": {
            name: field for name, field in TASK_EDIT["properties"].items() if name != "status"
        },
        "minProperties": 1,
    }
)
class TaskPatchField(StrictDictField):
    """An edit of a task, merged into each; judged by the same validation."""


class TaskActionBody(_MakingBody):
    """An action on many tasks."""

    action = StrictChoiceField(choices=ACTIONS["tasks"])
    filter = TaskFilter()
    set = TaskPatchField(required=False, help_text="Of the action `set`: what to change.")
    note = StrictCharField(required=False, allow_blank=True, max_length=1000)


class ExecutionActionBody(_MakingBody):
    """An action on many executions."""

    action = StrictChoiceField(choices=("cancel", "retry"))
    filter = ExecutionFilter()


class ReplayPlace(StrictSerializer):
    """Another URL or pool for the replayed executions: exactly one of the two."""

    url = StrictCharField(
        required=False, max_length=URL_LENGTH, help_text="The whole URL; webhooks go there."
    )
    pool = StrictCharField(
        required=False, max_length=POOL_NAME_LENGTH, help_text="All targets but webhooks go there."
    )


class ReplayBody(_ActionBody):
    """Which executions run again, where, and how fast; ``filter`` is a range of time, or ids."""

    filter = ExecutionFilter()
    into = ReplayPlace(required=False, allow_null=True)
    rate_per_second = StrictNumberField(
        required=False,
        min_value=0.1,
        max_value=1000,
        help_text=f"Executions made per second; {REPLAY_RATE:g} unless given.",
    )
    canary = StrictIntegerField(required=False, min_value=1, max_value=MAX_ITEMS)
    stop_on_failure_rate = StrictNumberField(required=False, min_value=0, max_value=1)


class SampleRow(Answer):
    """A row of a scope in brief."""

    id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    task_name = serializers.CharField()
    state = serializers.CharField(help_text="Its state, or of a dead letter its cause.")
    at = StrictDateTimeField()


class BulkScope(Answer):
    """The rows that a job would act on."""

    count = serializers.IntegerField()
    oldest = StrictDateTimeField(allow_null=True)
    newest = StrictDateTimeField(allow_null=True)
    tasks = serializers.IntegerField()
    unfit = serializers.IntegerField(
        required=False,
        help_text="Of a replay with `into`: how many executions cannot go there and are skipped.",
    )
    sample = SampleRow(many=True)


class BulkJobSerializer(Answer):
    """A bulk job and how far it has come."""

    id = serializers.UUIDField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(choices=list(KINDS))
    action = serializers.CharField()
    filter = serializers.DictField()
    options = serializers.DictField()
    payload_edited = serializers.BooleanField()
    status = serializers.ChoiceField(choices=JobStatus.choices)
    reason = serializers.CharField(allow_null=True)
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    remaining = serializers.IntegerField()
    created_by = serializers.CharField()
    created_at = StrictDateTimeField()
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField(allow_null=True)


class BulkJobResult(Answer):
    """A row that was skipped or failed, and why."""

    position = serializers.IntegerField()
    id = serializers.UUIDField()
    at = StrictDateTimeField(allow_null=True, help_text="The instant, of a backfill.")
    outcome = serializers.ChoiceField(choices=ItemOutcome.choices)
    code = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_blank=True)
    result_id = serializers.UUIDField(allow_null=True)


class MadeExecutions(Answer):
    """The executions that a job made, counted by state; waiting ones are pending.

    `gone` are past their retention. Of a large job the latest 10,000 are counted.
    """

    pending = serializers.IntegerField()
    running = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    skipped = serializers.IntegerField()
    gone = serializers.IntegerField()


class BulkJobDetail(BulkJobSerializer):
    """A bulk job with the rows that it has not done."""

    executions = MadeExecutions(
        allow_null=True,
        help_text="Of a backfill, a retry or a run, whose `done` are the executions made so far; "
        "null of other jobs.",
    )
    results = BulkJobResult(many=True)
    pagination = Pagination()
