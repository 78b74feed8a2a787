"""How many bytes a worker holds, and for whom: a part is kept for other tenants.

Work that does not fit is handed back and dispatched again. Without shares a tenant with large
payloads and slow receivers would fill the hold, and work of others would come and go unstarted.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.conf import conf
from shared.slot_shares import SlotShares
from wire.messages import Entry
from worker.entries import Held

#: One byte in this many is kept for other tenants.
_KEPT_OF = 16


def sizes_of(entries: Sequence[Entry], size: int) -> list[int]:
    """Return the bytes of each entry of a message of ``size`` bytes.

    What an entry has alone counts for it, the rest of the message for all alike: the tenant with
    a large payload takes its bytes, not those whose work is in the same message.
    """
    own = [
        len(entry.get("payload") or "")
        + len(entry.get("progress") or "")
        + len(entry.get("sealed") or "")
        for entry in entries
    ]
    rest = max(1, (size - sum(own)) // max(1, len(entries)))
    return [rest + one for one in own]


class HoldBytes:
    """The bytes of what a worker holds, by tenant."""

    def __init__(self) -> None:
        self._free = conf().worker_hold_bytes
        self._shares = SlotShares(self._free // _KEPT_OF)

    def add(self, held: Held, now: float) -> bool:
        """Take in the bytes of work; return whether they fit."""
        if held.size > self._free or not self._shares.may_take(held.tenant, self._free, now):
            return False
        self._free -= held.size
        self._shares.take(held.tenant, now, held.size)
        return True

    def remove(self, held: Held) -> None:
        """Note that the worker holds the work no longer."""
        self._free += held.size
        self._shares.give_back(held.tenant, held.size)
