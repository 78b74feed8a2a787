"""Data keys in the database: where web, schedulers and commands find them; what messages carry."""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from shared.data_keys import ACTIVE_SECONDS, VERSION, Wrapped
from tenants.models import DataKey

#: Tenants whose keys a scheduler keeps between messages.
_KEPT = 16384
#: First byte of values that a data key has sealed.
_MARK = bytes((VERSION,))


class Stored:
    """The source of processes that have the database."""

    def active(self, tenant: str) -> Wrapped | None:
        """Return the key that seals for the tenant."""
        return _wrapped(DataKey.objects.filter(tenant_id=tenant, replaced_at=None).first())

    def find(self, key_id: UUID) -> Wrapped | None:
        """Return a key that was not destroyed."""
        return _wrapped(DataKey.objects.filter(pk=key_id).first())


def _wrapped(key: DataKey | None) -> Wrapped | None:
    if key is None:
        return None
    return Wrapped(key.id, str(key.tenant_id), bytes(key.wrapped), key.seals_targets)


class _Kept(NamedTuple):
    until: float
    ids: frozenset[bytes]
    texts: list[str]


class KeysOfMessages:
    """The wrapped keys that travel with messages, kept between messages.

    A message has every key of its tenants, the one that seals first. What is kept is read again
    after ``ACTIVE_SECONDS``, and at once where a value of the message has a key that is not in it.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()

    def of(self, blobs: Iterable[tuple[UUID, bytes | None]]) -> dict[UUID, list[str]]:
        """Return the keys of the tenants of these sealed values, as text."""
        now, found, stale = time.monotonic(), {}, set()
        for tenant, blob in blobs:
            kept = self._kept.get(tenant)
            if kept is None or kept.until < now or _lacks(kept, blob):
                stale.add(tenant)
            else:
                found[tenant] = kept.texts
        if stale:
            # What was found stays in the answer where it makes place in what is kept.
            found |= self._read(sorted(stale), now)
        return found

    def _read(self, tenants: Sequence[UUID], now: float) -> dict[UUID, list[str]]:
        ids: dict[UUID, set[bytes]] = {tenant: set() for tenant in tenants}
        texts: dict[UUID, list[str]] = {tenant: [] for tenant in tenants}
        keys = DataKey.objects.filter(tenant_id__in=tenants).order_by("-generation")
        for tenant, key, wrapped in keys.values_list("tenant_id", "id", "wrapped"):
            ids[tenant].add(key.bytes)
            texts[tenant].append(base64.b64encode(key.bytes + bytes(wrapped)).decode())
        for tenant in tenants:
            self._kept[tenant] = _Kept(now + ACTIVE_SECONDS, frozenset(ids[tenant]), texts[tenant])
            self._kept.move_to_end(tenant)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return texts


def _lacks(kept: _Kept, blob: bytes | None) -> bool:
    return blob is not None and blob[:1] == _MARK and bytes(blob[2:18]) not in kept.ids
