"""Claimed work on its way to the workers: published, or taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from executions import transitions
from wire import messages, start_guard
from wire.messages import Claimed

Publish = Callable[[str, messages.Sent], None]
Secrets = Callable[[Sequence[UUID]], dict[UUID, list[bytes]]]


@dataclass(slots=True)
class Sending:
    """Publishes what was claimed.

    ``publish(queue, message)`` hands a message to the broker; ``signing_secrets(tenants)`` returns
    each tenant's active secrets, sealed. ``owed`` are executions that are claimed and not known to
    be published.
    """

    publish: Publish
    signing_secrets: Secrets
    owed: list[Claimed] = field(default_factory=list)

    def send(self, queue: str, incarnation: str, offset: float) -> None:
        """Publish what is owed; raise ``ConnectionFailed`` and owe what Redis has not taken.

        ``offset`` is Redis time minus database time, at most.
        """
        secrets = self.signing_secrets(sorted({row.tenant_id for row in self.owed}))
        batch, published = self.owed, 0
        for part, size in messages.split(batch):
            self.publish(queue, messages.encode(part, size, incarnation, secrets, offset))
            published += len(part)
            self.owed = batch[published:]

    def take_back(self) -> list[Claimed]:
        """Take back what is owed and can no longer start; return all that was owed.

        Raise ``Unavailable``, and go on owing it, while Redis cannot void its tokens.
        """
        holders = start_guard.void([row.token for row in self.owed])
        pairs = zip(self.owed, holders, strict=True)
        with transaction.atomic():
            transitions.withdraw([(row.id, row.token) for row, by in pairs if not by])
        owed, self.owed = self.owed, []
        return owed
