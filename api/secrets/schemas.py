"""Bodies and answers of the calls about named secrets, for the OpenAPI document.

``tasks.named_secrets.content`` reads the bodies; tests hold the two against each other.
"""

from __future__ import annotations

from api.tasks.definition_serializers import DocumentedSerializer
from api.tasks.schema_parts import ID, INSTANT, Schema
from shared.named_secrets.references import NAME_LENGTH
from tasks.limits import SECRET_BINDINGS, SECRET_BYTES
from tasks.named_secrets.content import HOST_LENGTH

_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LENGTH,
    "pattern": "^[a-z][a-z0-9_-]{0,62}$",
    "description": "Targets name it as {{ secrets.name }}, so it cannot change.",
    "examples": ["billing-token"],
}
_VALUE: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": SECRET_BYTES,
    "description": f"At most {SECRET_BYTES} bytes of UTF-8. No call answers it.",
}
_HOSTS: Schema = {
    "type": "array",
    "maxItems": SECRET_BINDINGS,
    "items": {"type": "string", "minLength": 1, "maxLength": HOST_LENGTH},
    "description": "Where webhooks may take it: api.example.com (https), *.example.com, "
    "http://10.0.0.7:8080, or * for every destination.",
    "examples": [["api.example.com"]],
}
_COMMANDS: Schema = {
    "type": "array",
    "maxItems": SECRET_BINDINGS,
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "Commands whose environment may have it, or * for every command.",
}
_COUNT: Schema = {"type": "integer", "minimum": 0, "description": "How many tasks use it."}
_SECRET: Schema = {
    "id": ID,
    "name": _NAME,
    "hosts": _HOSTS,
    "commands": _COMMANDS,
    "version": {"type": "integer", "minimum": 1},
    "tasks": _COUNT,
    "changed_by": {"type": "string"},
    "created_at": INSTANT,
    "written_at": INSTANT | {"description": "When its value was last written."},
}
_USER: Schema = {
    "type": "object",
    "properties": {
        "id": ID,
        "name": {"type": "string"},
        "kind": {"type": "string", "enum": ["task", "workflow"]},
    },
    "required": ["id", "name", "kind"],
    "additionalProperties": False,
}


def _all(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class SecretCreateSerializer(DocumentedSerializer):
    """The body of a new secret."""

    json_schema = {
        "type": "object",
        "properties": {"name": _NAME, "value": _VALUE, "hosts": _HOSTS, "commands": _COMMANDS},
        "required": ["name", "value"],
        "additionalProperties": False,
    }


class SecretChangeSerializer(DocumentedSerializer):
    """The body of changing a secret; fields left out stay."""

    json_schema = {
        "type": "object",
        "properties": {"value": _VALUE, "hosts": _HOSTS, "commands": _COMMANDS},
        "additionalProperties": False,
    }


class SecretSummarySerializer(DocumentedSerializer):
    """A secret in a list."""

    json_schema = _all(_SECRET)


class SecretSerializer(DocumentedSerializer):
    """A secret with the tasks that use it; never with its value."""

    json_schema = _all({**_SECRET, "used_by": {"type": "array", "items": _USER, "maxItems": 100}})
