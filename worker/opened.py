"""Opens the sealed parts of a message's entry, for a run in a process of its own."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import orjson

from shared.encryption import open_json, open_sealed
from shared.sealing_contexts import payload_context, progress_context, revision_context
from wire.messages import Entry


@dataclass(frozen=True, slots=True)
class Opened:
    """The payload, the progress of the attempt before, and the target's sealed parts."""

    payload: Any
    last_progress: Any
    target: dict[str, Any]
    #: Of a command: those that the run of a workflow has made, or the sealed ones. None where the
    #: readable part of its target has them.
    arguments: list[str] | None = None
    #: Whether the run of a workflow has made arguments and environment.
    rendered: bool = False


def open_entry(entry: Entry) -> Opened:
    """Return the entry's sealed parts, opened; raise DecryptionFailed where a key is missing."""
    tenant = entry["tenant"]
    context = revision_context(tenant, entry["task"], entry["revision"])
    target = open_json(base64.b64decode(entry["sealed"]), context)
    payload = target.pop("payload", None)
    if (sealed := entry.get("payload")) is not None:
        own = payload_context(tenant, entry["id"])
        payload = orjson.loads(open_sealed(base64.b64decode(sealed), own))
    arguments = target.get("arguments")
    rendered = bool(entry["target"].get("rendered"))
    if rendered:
        arguments, target["environment"] = payload["arguments"], payload["environment"]
        payload = payload["payload"]
    progress = entry.get("progress")
    return Opened(
        payload=payload,
        last_progress=None
        if progress is None
        else open_json(base64.b64decode(progress), progress_context(tenant, entry["id"])),
        target=target,
        arguments=arguments,
        rendered=rendered,
    )
