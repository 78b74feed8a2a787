"""The data keys of a worker: they come with its messages, and it has no other source."""

from __future__ import annotations

import base64
from collections.abc import Callable
from uuid import UUID

from shared.data_keys import Arrived, Wrapped, use_source
from wire.messages import Shared


def take_keys_from_messages() -> Callable[[Shared], None]:
    """Let this process know the keys of its messages only; return what takes those of a message."""
    arrived = Arrived()
    use_source(arrived)

    def take(batch: Shared) -> None:
        for tenant, texts in batch.get("keys", {}).items():
            arrived.note(tenant, [_key(tenant, text) for text in texts])

    return take


def _key(tenant: str, text: str) -> Wrapped:
    raw = base64.b64decode(text)
    return Wrapped(UUID(bytes=raw[:16]), tenant, raw[16:])
