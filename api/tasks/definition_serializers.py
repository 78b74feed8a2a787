"""Named components of the OpenAPI document for bodies that ``tasks.validation`` reads itself.

Views name these in ``extend_schema``; none of them parses or renders anything.
"""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework import serializers

from api.tasks import schemas
from api.tasks.preview_schemas import PREVIEW
from api.tasks.schema_parts import Schema


class DocumentedSerializer(serializers.Serializer[Any]):
    """A body that a JSON Schema describes."""

    json_schema: ClassVar[Schema] = {}


class TaskCreateSerializer(DocumentedSerializer):
    """The body of creating or replacing a task."""

    json_schema = schemas.TASK_CREATE


class TaskEditSerializer(DocumentedSerializer):
    """The body of editing a task."""

    json_schema = schemas.TASK_EDIT


class TaskCloneSerializer(DocumentedSerializer):
    """The body of cloning a task."""

    json_schema = schemas.TASK_CLONE


class TaskSerializer(DocumentedSerializer):
    """A task as answered."""

    json_schema = schemas.TASK


class SchedulePreviewRequestSerializer(DocumentedSerializer):
    """The body of a preview."""

    json_schema = schemas.PREVIEW_REQUEST


class SchedulePreviewSerializer(DocumentedSerializer):
    """A preview as answered."""

    json_schema = PREVIEW


class ZoneMoveSerializer(DocumentedSerializer):
    """A task whose future moved with the zone database."""

    json_schema = schemas.ZONE_MOVE


class DocumentedSerializerExtension(OpenApiSerializerExtension):
    """Write the JSON Schema into the document as it is."""

    target_class = DocumentedSerializer
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        """Return the class's name without 'Serializer'."""
        return str(self.target.__class__.__name__).removesuffix("Serializer")

    def map_serializer(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the class's JSON Schema."""
        return dict(self.target.json_schema)
