"""JSON Schemas of targets, one for each kind: as written, as edited, and as answered.

Answers hold the mask where a target has a secret; sent back in its place, it keeps the secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.tasks.schema_parts import (
    NULL,
    Schema,
    as_seen,
    closed,
    integer,
    merged_in,
    number,
    or_null,
    statuses,
    text,
    with_defaults,
    words,
)
from tasks import choices, limits
from tasks.definition import (
    COMMAND_TARGET_DEFAULTS,
    HANDLER_TARGET_DEFAULTS,
    POOL_TARGET_DEFAULTS,
    TARGET_DEFAULTS,
)
from tasks.masking import SEEN_OF_TARGET
from tasks.validation.worked import (
    ARGUMENT_BYTES,
    ARGUMENTS,
    EXIT_CODES,
    MEMORY_BYTES,
    OUTPUT_BYTES,
    VARIABLES,
)

_SECRET = text(limits.SECRET_BYTES, "A secret; answers hold a mask in its place.")
_NAME = text(limits.SECRET_BYTES)
_SCOPE = or_null(text(1000))
_PEM = or_null(text(limits.PEM_LENGTH, "PEM."))
_RUNTIME = or_null(number(1, limits.RUNTIME_SECONDS))
URL: Schema = text(
    limits.URL_LENGTH,
    "http or https, without credentials; private addresses are refused. With `template` its path "
    "and query may hold templates.",
) | {"examples": ["https://api.example.com/reports"]}

# --- webhook -------------------------------------------------------------------------------

#: Type of authentication -> its fields besides the type; those that are null are optional.
_AUTH: dict[str, Schema] = {
    "basic": {"username": _NAME, "password": _SECRET},
    "bearer": {"token": _SECRET},
    "api_key": {
        "name": text(limits.NAME_LENGTH, "Of the header or query parameter."),
        "value": _SECRET,
        "in": words(*choices.API_KEY_PLACES) | {"default": "header"},
    },
    "oauth2": {
        "token_url": URL,
        "client_id": _NAME,
        "client_secret": _SECRET,
        "scope": _SCOPE,
        "audience": _SCOPE,
    },
}
_OPTIONAL_AUTH = ("in", "scope", "audience")
_TLS: Schema = {
    "verify": {
        "type": "boolean",
        "default": True,
        "description": "False only where the deployment allows it.",
    },
    "ca_certificates": _PEM,
    "client_certificate": _PEM,
    "client_key": or_null(text(limits.PEM_LENGTH, "PEM, unencrypted; answers hold a mask.")),
}
_PROXY: Schema = {
    "url": text(limits.URL_LENGTH, "http://host:port"),
    "username": or_null(_NAME),
    "password": or_null(_SECRET),
}
_PATTERN = text(limits.PATTERN_LENGTH, "A regular expression of RE2, searched for.")
_JSON: Schema = closed(
    {
        "path": text(limits.PATH_LENGTH) | {"examples": ["$.result.items[0]"]},
        "equals": {"type": ["string", "number", "boolean", "null"]},
    },
    "path",
    "equals",
)
_HEADER: Schema = closed({"name": text(limits.NAME_LENGTH), "pattern": _PATTERN}, "name", "pattern")
_SUCCESS: Schema = {
    "statuses": statuses(),
    "header": _HEADER,
    "body_pattern": _PATTERN,
    "json": _JSON,
}


def _auth(*, answered: bool) -> Schema:
    options = [
        closed(
            {"type": words(kind), **fields},
            "type",
            *(key for key in fields if answered or key not in _OPTIONAL_AUTH),
        )
        for kind, fields in _AUTH.items()
    ]
    return {"anyOf": [{"oneOf": options, "discriminator": {"propertyName": "type"}}, NULL]}


def _success(*, answered: bool) -> Schema:
    said = {"description": "All that are given must hold."}
    if answered:
        return closed(_SUCCESS, "statuses") | said
    others = {key: {"anyOf": [schema, NULL]} for key, schema in _SUCCESS.items()}
    return closed(others | {"statuses": statuses()}) | said


def _webhook(*, answered: bool = False) -> Schema:
    return {
        "kind": words("webhook"),
        "url": URL,
        "method": words(*choices.METHODS),
        "headers": {
            "type": "object",
            "maxProperties": limits.HEADERS,
            "additionalProperties": {"type": "string"},
            "description": "Headers that Punctual or the connection sets are refused.",
        },
        "body_format": words(*choices.BODY_FORMATS)
        | {"description": "'raw': the payload is a text, sent as it is."},
        "timeout_seconds": number(0.1, 3600),
        "connect_timeout_seconds": number(0.1, 60),
        "completion": words(*choices.COMPLETIONS)
        | {"description": "'callback': the receiver answers 202 and ends the execution later."},
        "heartbeat_timeout_seconds": number(1, 86_400),
        "max_runtime_seconds": _RUNTIME | {"description": "Only with completion 'callback'."},
        "template": {
            "type": "boolean",
            "description": "Whether url, headers and payload may hold templates such as "
            "`{{ scheduled_for }}`.",
        },
        "success": _success(answered=answered),
        "follow_redirects": {"type": "boolean"},
        "auth": _auth(answered=answered),
        "tls": {"anyOf": [closed(_TLS, *(_TLS if answered else ())), NULL]},
        "proxy": {"anyOf": [closed(_PROXY, *(_PROXY if answered else ("url",))), NULL]},
    }


# --- what workers run ----------------------------------------------------------------------

_CALLABLE = text(limits.NAME_LENGTH) | {"pattern": "^[A-Za-z_][A-Za-z0-9_.:-]*$"}
_POOL = text(limits.POOL_NAME_LENGTH) | {"pattern": "^[a-z0-9]([a-z0-9_-]{0,48}[a-z0-9])?$"}
_TIMES: Schema = {
    "timeout_seconds": number(0.1, 86_400),
    "cancel_grace_seconds": number(0, 300)
    | {"description": "How long a cancelled run may take to end by itself."},
}
_PULLED: Schema = {
    "kind": words("pool"),
    "pool": _POOL | {"description": "An existing pool; its workers lease the work."},
    "handler": text(limits.NAME_LENGTH, "The worker's own name for the work to run."),
    "requires": {
        "type": "object",
        "maxProperties": limits.LABELS,
        "propertyNames": {"minLength": 1, "maxLength": limits.LABEL_KEY_LENGTH},
        "additionalProperties": {"type": "string", "maxLength": limits.LABEL_VALUE_LENGTH},
        "description": "Labels that a worker must have to be given the work.",
    },
    "max_runtime_seconds": _RUNTIME,
}
_HANDLER: Schema = {
    "kind": words("handler"),
    "handler": _CALLABLE | {"description": "A name that the deployment's workers register."},
    "pool": _POOL,
    **_TIMES,
}
_COMMAND: Schema = {
    "kind": words("command"),
    "command": _CALLABLE | {"description": "A name that the deployment allows."},
    "arguments": {
        "type": "array",
        "items": {"type": "string", "maxLength": ARGUMENT_BYTES},
        "maxItems": ARGUMENTS,
        "description": "Given to the program one by one; no shell reads them.",
    },
    "environment": {
        "type": "object",
        "maxProperties": VARIABLES,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": {"type": "string", "maxLength": limits.SECRET_BYTES},
        "description": "Variables of the program; answers mask their values.",
    },
    "pool": _POOL,
    **_TIMES,
    "output_bytes": integer(*OUTPUT_BYTES) | {"description": "Kept of the program's output."},
    "memory_bytes": or_null(integer(*MEMORY_BYTES)),
    "success_exit_codes": {
        "type": "array",
        "items": integer(0, 255),
        "minItems": 1,
        "maxItems": EXIT_CODES,
    },
}


# --- by use --------------------------------------------------------------------------------


def _one_of(options: list[Schema]) -> Schema:
    return {"oneOf": options, "discriminator": {"propertyName": "kind"}}


def _written(fields: Schema, defaults: Mapping[str, Any], *required: str) -> Schema:
    # The kind that is meant decides which defaults there are, so it has none itself.
    some = {key: value for key, value in defaults.items() if key not in ("kind", *required)}
    return closed(with_defaults(fields, some), *required)


#: The webhook's fields that the short form has in its payload, under the same names.
WEBHOOK_OPTIONS: Schema = with_defaults(
    {key: schema for key, schema in _webhook().items() if key not in ("kind", "url")},
    TARGET_DEFAULTS,
)
TARGET: Schema = _one_of(
    [
        _written(_webhook(), TARGET_DEFAULTS, "url"),
        _written(_PULLED, POOL_TARGET_DEFAULTS, "kind", "pool", "handler"),
        _written(_HANDLER, HANDLER_TARGET_DEFAULTS, "kind", "handler"),
        _written(_COMMAND, COMMAND_TARGET_DEFAULTS, "kind", "command"),
    ]
)
_KINDS: tuple[Schema, ...] = (_webhook(), _PULLED, _HANDLER, _COMMAND)


def _edited(fields: Schema) -> Schema:
    merged = {key: merged_in(schema) for key, schema in fields.items()}
    if "success" in merged:
        inside = {key: merged_in(schema) for key, schema in _SUCCESS.items()}
        # A JSON criterion is replaced whole: its null is a value.
        inside["json"] = {"anyOf": [_JSON, NULL]}
        merged["success"] = {"anyOf": [closed(inside), NULL]}
    return closed(merged)


#: An edit without a kind has the task's own kind, so several schemas may fit.
TARGET_EDIT: Schema = {"anyOf": [*(_edited(fields) for fields in _KINDS), NULL]}
#: Lists of tasks have workflows as well; the calls of workflows show their steps.
WORKFLOW_OPTIONS: Schema = {
    "on_failure": words(*choices.ON_FAILURE)
    | {
        "default": choices.ON_FAILURE[0],
        "description": "What a failed step does to its run: cancel what is open, or let "
        "independent branches go on.",
    },
    "input_schema": {
        "type": ["object", "null"],
        "description": "JSON Schema 2020-12 of the input, without references and patterns.",
    },
    "deadline_seconds": or_null(number(1, limits.RUNTIME_SECONDS)),
    "deadline_at": or_null(
        text(5, "A time of day; not with deadline_seconds.")
        | {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
    ),
    "deadline_timezone": or_null(text(255, "The zone of deadline_at.")),
}
_WORKFLOW: Schema = {"kind": words(choices.WORKFLOW), **WORKFLOW_OPTIONS}
#: Of these only values are hidden: the query of a URL, and those of the headers.
_SEEN = SEEN_OF_TARGET | {"url", "headers"}
TARGET_ANSWER: Schema = _one_of(
    [
        closed(as_seen(fields, _SEEN), *fields)
        for fields in (_webhook(answered=True), *_KINDS[1:], _WORKFLOW)
    ]
)
