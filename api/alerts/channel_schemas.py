"""Bodies and answers of the calls about channels, for the OpenAPI document.

``notifications.channel_content`` reads the bodies; tests hold the two against each other.
"""

from __future__ import annotations

from api.tasks.definition_serializers import DocumentedSerializer
from api.tasks.schema_parts import ID, INSTANT, Schema
from notifications.channel_content import LONGEST_WAIT, MOST_RULES, NAME_LENGTH
from notifications.choices import ALERT_KINDS, ChannelKind
from notifications.transports.chat import MAX_URL_LENGTH

_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LENGTH,
    "examples": ["on-call"],
}
_KIND: Schema = {
    "type": "string",
    "enum": ChannelKind.values,
    "description": "`webhook`: a signed POST to a program of yours. `chat`: a chat or paging "
    "service. It cannot change.",
}
_URL: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_URL_LENGTH,
    "description": "Of a webhook: http or https. Of a service: its incoming webhook's https URL, "
    "or a URL of the library apprise. No call answers it.",
    "examples": ["slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"],
}
_KINDS: Schema = {
    "type": "array",
    "maxItems": len(ALERT_KINDS),
    "items": {"type": "string", "enum": list(ALERT_KINDS)},
    "description": "The kinds of alerts that it gets; unless given, all but first failures.",
}
_RULES: Schema = {
    "type": "array",
    "maxItems": MOST_RULES,
    "items": ID,
    "description": "The tenant's own alert rules whose alerts it gets besides.",
}
_AFTER: Schema = {
    "type": "integer",
    "minimum": 0,
    "maximum": LONGEST_WAIT,
    "description": "For escalation: it gets an alert that was not acknowledged this many seconds "
    "after it opened. 0: every alert at once.",
}
_MOMENT: Schema = {"anyOf": [INSTANT, {"type": "null"}]}
_TEXT: Schema = {"type": ["string", "null"]}


def _all(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class ChannelCreateSerializer(DocumentedSerializer):
    """The body of a new channel."""

    json_schema = {
        "type": "object",
        "properties": {
            "name": _NAME,
            "kind": _KIND,
            "url": _URL,
            "kinds": _KINDS,
            "rules": _RULES,
            "after_seconds": _AFTER,
        },
        "required": ["name", "kind", "url"],
        "additionalProperties": False,
    }


class ChannelChangeSerializer(DocumentedSerializer):
    """The body of changing a channel; fields left out stay."""

    json_schema = {
        "type": "object",
        "properties": {
            "name": _NAME,
            "url": _URL,
            "kinds": _KINDS,
            "rules": _RULES,
            "after_seconds": _AFTER,
        },
        "additionalProperties": False,
    }


class ChannelSerializer(DocumentedSerializer):
    """A channel, without its URL."""

    json_schema = _all(
        {
            "id": ID,
            "name": _NAME,
            "kind": _KIND,
            "service": {
                "type": "string",
                "description": "`webhook`, or the scheme of the service.",
            },
            "host": _TEXT | {"description": "The host of the URL, where it has one."},
            "kinds": _KINDS,
            "rules": {
                "type": "array",
                "maxItems": MOST_RULES,
                "items": _all({"id": ID, "name": {"type": "string"}}),
            },
            "after_seconds": _AFTER,
            "version": {"type": "integer", "minimum": 1},
            "created_at": INSTANT,
            "updated_at": INSTANT,
            "last_sent_at": _MOMENT,
            "failed_at": _MOMENT | {"description": "Since the last success; null after one."},
            "error": _TEXT,
        }
    )


class ChannelTestSerializer(DocumentedSerializer):
    """What the other side answered to a test message."""

    json_schema = _all(
        {
            "sent": {"type": "boolean"},
            "status": {
                "type": ["integer", "null"],
                "description": "The HTTP status of the answer; null without one.",
            },
            "answer": {
                "type": "string",
                "maxLength": 200,
                "description": "The beginning of the answer, with secrets masked.",
            },
            "error": _TEXT,
        }
    )
