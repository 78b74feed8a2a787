"""Bodies and answers of the calls about tasks, without their definitions."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.executions.serializers import AnyJSONField, ExecutionSerializer
from api.protocol.schema import Pagination
from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
)
from api.tasks.budget_schemas import BUDGET_USE
from api.tasks.definition_serializers import DocumentedSerializer, TaskCreateSerializer
from api.tasks.schema_parts import INSTANT
from tasks.bulk import MAX_TASKS

Answer = serializers.Serializer[Any]

#: How the instants that fell into a pause run after it.
ON_RESUME = ("skip", "run_once", "replay")
_MAX_VERSION = 2**31 - 1


class PauseBody(StrictSerializer):
    """How a task pauses; with ``until`` it resumes by itself."""

    until = StrictDateTimeField(required=False, allow_null=True, default=None)
    note = StrictCharField(max_length=1000, allow_blank=True, default="")
    on_resume = StrictChoiceField(
        choices=ON_RESUME,
        default="skip",
        help_text="How the instants that fall into the pause run after it.",
    )


class RunBody(StrictSerializer):
    """The payload of this run, in place of the task's; null is a payload."""

    payload = AnyJSONField(required=False, allow_null=True)


class RollbackBody(StrictSerializer):
    """The version to go back to."""

    version = StrictIntegerField(min_value=1, max_value=_MAX_VERSION)


class BulkBody(StrictSerializer):
    """Definitions as ``POST /v1/tasks`` takes them; each is judged by itself."""

    tasks = StrictListField(min_length=1, max_length=MAX_TASKS)
    atomic = StrictBooleanField(default=False)


class BulkCreateSerializer(Answer):
    """Definitions as ``POST /v1/tasks`` takes them, in either form."""

    tasks = serializers.ListField(child=TaskCreateSerializer(), min_length=1, max_length=MAX_TASKS)
    atomic = serializers.BooleanField(
        default=False, help_text="Create all or nothing; otherwise each has its own result."
    )


class TaskDetailSerializer(DocumentedSerializer):
    """A task with its latest executions."""

    json_schema = {
        "allOf": [
            {"$ref": "#/components/schemas/Task"},
            {
                "type": "object",
                "properties": {
                    "executions": {
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/Execution"},
                        "maxItems": 10,
                        "description": "The latest ten.",
                    },
                    "budget_use": BUDGET_USE,
                },
                "required": ["executions", "budget_use"],
            },
        ]
    }


class TaskExecutionsPage(Answer):
    """A task's executions, newest first."""

    executions = ExecutionSerializer(many=True)
    pagination = Pagination()


class RevisionSerializer(DocumentedSerializer):
    """A version of a task's definition, in the long form."""

    json_schema = {
        "type": "object",
        "properties": {
            "version": {"type": "integer", "minimum": 1},
            "changed_by": {"type": "string"},
            "created_at": INSTANT,
            "definition": {"type": "object", "description": "The long form of the definition."},
        },
        "required": ["version", "changed_by", "created_at", "definition"],
        "additionalProperties": False,
    }


class BulkResultSerializer(DocumentedSerializer):
    """The result of one definition."""

    json_schema = {
        "type": "object",
        "properties": {
            "index": {"type": "integer", "minimum": 0},
            "status": {"type": "integer", "examples": [201, 400]},
            "task": {"$ref": "#/components/schemas/Task"},
            "problem": {"$ref": "#/components/schemas/Problem"},
        },
        "required": ["index", "status"],
        "additionalProperties": False,
    }


class BulkAnswer(Answer):
    """The result of each definition, in order."""

    results = BulkResultSerializer(many=True)
    created = serializers.IntegerField()
    failed = serializers.IntegerField()
