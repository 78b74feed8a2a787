"""Entries of a message for handlers and commands, as dispatch makes them."""

from __future__ import annotations

import base64
import itertools
import time
from typing import Any
from uuid import uuid4

from shared.encryption import open_json, seal_json
from shared.sealing_contexts import (
    progress_context,
    response_context,
    result_context,
    revision_context,
)
from tasks.definition import target_defaults

_tokens = itertools.count(1)


def entry_of(
    kind: str,
    *,
    payload: Any = None,
    sealed: Any | None = None,
    last_progress: Any = None,
    parts: Any | None = None,
    **target: Any,
) -> Any:
    """Return an entry whose target is the kind's with these keys; ``parts`` are the entry's."""
    task, execution = str(uuid4()), str(uuid4())
    tenant = str(uuid4())
    content = {**(sealed or {}), "payload": payload}
    secret = seal_json(content, revision_context(tenant, task, 1))
    progress = seal_json(last_progress, progress_context(tenant, execution))
    made = {**target_defaults(kind), **target}
    return {
        "id": execution,
        "tenant": tenant,
        "task": task,
        "revision": 1,
        "token": next(_tokens),
        "attempt": 1,
        "max_attempts": 5,
        "priority": 5,
        "scheduled_for": time.time(),
        # A webhook's stands apart.
        "url": made.pop("url", None),
        "target": made,
        "retry_policy": {"retry_on": ["timeout"], "initial_delay_seconds": 1},
        "sealed": base64.b64encode(secret).decode(),
        "payload": None,
        "destination": "",
        "lost": 0,
        "progress": None if last_progress is None else base64.b64encode(progress).decode(),
        "named": None,
        **(parts or {}),
    }


def log_of(entry: Any, outcome: Any) -> str:
    """Return the captured log of an outcome as text."""
    return base64.b64decode(capture_of(entry, outcome)["log"]).decode()


def capture_of(entry: Any, outcome: Any) -> Any:
    """Return what an outcome has captured."""
    found: Any = open_json(outcome["sealed"], response_context(entry["tenant"], entry["id"]))
    return found


def result_of(entry: Any, outcome: Any) -> Any:
    """Return the result of an outcome."""
    return open_json(outcome["result"], result_context(entry["tenant"], entry["id"]))


def progress_of(entry: Any, said: Any) -> Any:
    """Return the progress that a row of the outcome stream says."""
    return open_json(said["sealed"], progress_context(entry["tenant"], entry["id"]))
