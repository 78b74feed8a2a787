"""A definition aimed at the tenant's own address of the built-in test receiver.

For a test of the call without its real receiver. The secrets of the target stay here: they belong
to another host (decision note 0027), and the test receiver keeps its requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from executions.triggering.receiver_requests import received, required_address_of
from shared.field_redaction import redacted
from shared.http_headers import is_secret_header
from shared.named_secrets.references import names_in
from shared.redaction import MASK
from tasks.definition import Definition

#: The path at the receiver unless a test names another one.
DEFAULT_PATH = "/ok"
#: Longest path of a test, its query included.
PATH_LENGTH = 500
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*")
#: Parts of a webhook that authenticate its sender, or choose its way.
_LEFT_OUT = ("auth", "tls", "proxy")


def read_path(text: str) -> str:
    """Return a path below a tenant's address; raise ValueError for an invalid one."""
    if len(text) > PATH_LENGTH or not _PATH.fullmatch(text):
        raise ValueError(f"Give a path of at most {PATH_LENGTH} characters, like /status/503.")
    return text


def aimed_at_receiver(tenant_id: UUID, definition: Definition, path: str) -> Definition:
    """Return the definition with the tenant's address as its URL, and without its secrets.

    A secret header is sent with ``[redacted]`` as its value, so that the test shows that it is
    there. So is a masked field of the payload, since the receiver's page shows what arrives. Other
    kinds of target stay as they are. Raise NoReceiver where no receiver runs.
    """
    address = required_address_of(tenant_id)
    target = definition.target
    if target["kind"] != "webhook":
        return definition
    headers = {
        name: MASK if is_secret_header(name) or names_in(value) else value
        for name, value in target["headers"].items()
    }
    url = address + path.removeprefix("/")
    aimed = {**target, **dict.fromkeys(_LEFT_OUT), "url": url, "headers": headers}
    payload = redacted(definition.payload, definition.redact)
    return replace(definition, target=aimed, payload=payload)


def request_received(tenant_id: UUID, sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a sent request as it arrived there; None where it did not arrive."""
    execution = next(
        value for name, value in sent["headers"].items() if name.lower() == "webhook-id"
    )
    found: list[dict[str, Any]] = received(tenant_id, {"webhook_id": execution, "limit": 1})[
        "requests"
    ]
    return found[0] if found else None
