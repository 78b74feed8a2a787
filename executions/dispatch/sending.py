"""Claimed work on its way to the workers: published, or taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.dispatch import tenant_limits
from tasks.named_secrets.reading import sealed_secrets
from tenants.data_keys import KeysOfMessages
from tenants.quotas.weights import weights
from wire import messages, start_guard
from wire.messages import Claimed
from wire.priorities import BAND_NAMES, band_of

Publish = Callable[[str, messages.Sent], None]
Secrets = Callable[[Sequence[UUID]], dict[UUID, list[bytes]]]
NamedSecrets = Callable[[Mapping[UUID, Set[str]]], dict[UUID, dict[str, bytes]]]


@dataclass(slots=True)
class Sending:
    """Publishes what was claimed.

    ``publish(queue, message)`` hands a message to the broker; ``signing_secrets(tenants)`` returns
    each tenant's active secrets, sealed, and ``named_secrets`` the named ones that the batch uses,
    by tenant and name: read as late as this, so that a new value counts from the next start.
    ``owed`` are executions that are claimed and not known to be published.
    """

    publish: Publish
    signing_secrets: Secrets
    owed: list[Claimed] = field(default_factory=list)
    keys: KeysOfMessages = field(default_factory=KeysOfMessages)
    named_secrets: NamedSecrets = sealed_secrets

    def send_by_bands(self, pool: str, incarnation: str, offset: float) -> None:
        """Publish what is owed to the queues of a pool, as :meth:`send` does for one of them."""
        batch = sorted(self.owed, key=lambda row: band_of(row.priority))
        for band, name in enumerate(BAND_NAMES):
            part = [row for row in batch if band_of(row.priority) == band]
            if not part:
                continue
            later = batch[len(part) :]
            try:
                self.owed = part
                self.send(f"{pool}.{name}", incarnation, offset)
            finally:
                batch = self.owed = [*self.owed, *later]

    def send(self, queue: str, incarnation: str, offset: float) -> None:
        """Publish what is owed; raise ``ConnectionFailed`` and owe what Redis has not taken.

        ``offset`` is Redis time minus database time, at most.
        """
        batch, published = self.owed, 0
        tenants = sorted({row.tenant_id for row in batch})
        secrets = self.signing_secrets(tenants)
        named = self.named_secrets(_used_by(batch))
        keys = self.keys.of(_blobs(batch, secrets, named))
        known = messages.OfTenants(keys, named, tenant_limits.texts(tenants), weights())
        for part, size in messages.split(batch):
            sent = messages.encode(part, size, incarnation, secrets, offset, known)
            self.publish(queue, sent)
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


def _blobs(
    rows: Sequence[Claimed],
    secrets: Mapping[UUID, Sequence[bytes]],
    named: Mapping[UUID, Mapping[str, bytes]],
) -> Iterator[tuple[UUID, bytes | None]]:
    """Return what workers will open, each with its tenant."""
    for row in rows:
        yield row.tenant_id, row.sealed
        if row.sealed_payload is not None:
            yield row.tenant_id, row.sealed_payload
        if row.sealed_progress is not None:
            yield row.tenant_id, row.sealed_progress
    for tenant, blobs in secrets.items():
        for blob in blobs:
            yield tenant, blob
    for tenant, by_name in named.items():
        for blob in by_name.values():
            yield tenant, blob


def _used_by(batch: Sequence[Claimed]) -> dict[UUID, set[str]]:
    """Return the names of the named secrets that a batch uses, by tenant."""
    used: dict[UUID, set[str]] = {}
    for row in batch:
        if names := messages.names_of(row):
            used.setdefault(row.tenant_id, set()).update(names)
    return used
