"""The tenants that have due work for a pool, as a scheduler last saw them."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from shared.sql import rows
from shared.sql_arrays import of_integers, of_moments, of_uuids

#: Tenants' priorities that one look reads; the next look continues behind them.
AT_ONCE = 2000
#: Claims, and seconds, for which a look serves. A newcomer waits for the next one.
_CLAIMS, _SECONDS = 4, 0.04
#: A look that takes long serves for this many times as long.
_TIMES = 4
#: A whole look that takes longer steps over entries of finished work, which a transaction that
#: stays open keeps from being cleaned up. The next ones begin where it has found work. None is
#: whole for a multiple of that time: earlier work, as of a resumed task, waits for a whole one.
_SLOW_SECONDS, _WHOLE_TIMES = 0.02, 20
_FIRST = (UUID(int=0), -1)
#: Tenant, priority and first due time of waiting work, for how long that is due, and whether it
#: counts already.
_Row = tuple[UUID, int, datetime, float | None, bool]
#: Seconds for which a tenant is left out that a claim got nothing of, while its first work stays.
_BARREN_SECONDS = 1.0


@dataclass(slots=True)
class Flow:
    """The waiting work of a tenant: its priorities in order, each with its first due time.

    ``wait`` is for how many seconds the first of all is due; None where all is due soon.
    """

    heads: list[tuple[int, datetime]] = field(default_factory=list)
    wait: float | None = None

    def add(self, priority: int, due_at: datetime, wait: float | None) -> None:
        """Add a priority that is after the known ones."""
        self.heads.append((priority, due_at))
        if wait is not None:
            self.wait = max(wait, self.wait or 0.0)

    @property
    def eldest(self) -> int | None:
        """The priority of the oldest work; None where the order of priorities begins with it."""
        found = min(self.heads, key=lambda head: head[1], default=None)
        return None if found is None or found == self.heads[0] else found[0]


class Flows:
    """What one pool's tenants wait for, read in rounds of bounded looks."""

    def __init__(self, pool: str) -> None:
        self.known: dict[UUID, Flow] = {}
        self._pool = pool
        self._found: dict[UUID, Flow] = {}
        self._after: tuple[UUID, int] = _FIRST
        self._looked_at = -math.inf
        self._serves = _SECONDS
        self._claims = 0
        #: The first due time of each tenant's priorities, where whole looks are slow; and when the
        #: next one is whole.
        self._since: dict[tuple[UUID, int], datetime] = {}
        self._whole_at = -math.inf
        #: Tenants whose work no claim could take: what they waited with, until when that counts.
        self._barren: dict[UUID, tuple[list[tuple[int, datetime]], float]] = {}

    @property
    def is_old(self) -> bool:
        """Whether the next claim needs another look."""
        if self._claims >= _CLAIMS and self._serves <= _SECONDS:
            return True
        return time.monotonic() - self._looked_at >= self._serves

    def look(self, window: float) -> None:
        """Read the next part; ``window`` is how many seconds ahead work counts.

        What the looks of a round have found is known at once; what is gone, at its end.
        """
        began = time.monotonic()
        is_whole = not self._since or began >= self._whole_at
        found = self._ask(window) if is_whole else self._ask_since(window)
        is_last, is_round = not is_whole or len(found) < AT_ONCE, self._after == _FIRST
        for tenant, priority, due_at, wait, within in found:
            if within:
                self._found.setdefault(tenant, Flow()).add(priority, due_at, wait)
        if is_last:
            self.known, self._found, self._after = self._found, {}, _FIRST
        else:
            self.known |= self._found
            self._after = (found[-1][0], found[-1][1])
        self._looked_at, self._claims = time.monotonic(), 0
        took = self._looked_at - began
        self._serves = max(_SECONDS, _TIMES * took)
        if is_whole:
            self._judge(took, is_round and is_last)
        self._remember(found)
        self._leave_out_barren()

    def forget(self) -> None:
        """Let the next look be whole: work was written that may be due before all that was seen."""
        self._whole_at = -math.inf

    def _ask(self, window: float) -> Sequence[_Row]:
        tenant, priority = self._after
        where = {"tenant": tenant, "priority": priority, "limit": AT_ONCE}
        return rows("shares/waiting", {"pool": self._pool, "window": window, **where})

    def _ask_since(self, window: float) -> Sequence[_Row]:
        known = sorted(self._since)
        where = {
            "tenants": of_uuids(tenant for tenant, _ in known),
            "priorities": of_integers(priority for _, priority in known),
            "since": of_moments(self._since[one] for one in known),
        }
        return rows("shares/waiting_from", {"pool": self._pool, "window": window, **where})

    def _judge(self, took: float, is_all: bool) -> None:
        """Decide after a whole look whether the next ones begin where work was found."""
        if not is_all or took < _SLOW_SECONDS:
            self._whole_at = -math.inf
        else:
            self._whole_at = self._looked_at + _WHOLE_TIMES * took

    def _remember(self, found: Sequence[_Row]) -> None:
        """Note where work was found, while looks begin there; what is gone keeps its place."""
        if self._whole_at == -math.inf:
            self._since = {}
            return
        self._since |= {(row[0], row[1]): row[2] for row in found}
        if len(self._since) > AT_ONCE:
            self._since = {}

    def claimed(self, drained: set[UUID], barren: Collection[UUID] = ()) -> None:
        """Note a claim, and the tenants of which it has taken everything until the next look.

        Of the ``barren`` ones it got nothing: their work is locked, or in partitions whose work may
        not be released now. They are left out for a while: they have received least, and would take
        every visit from the others.
        """
        self._claims += 1
        until = time.monotonic() + _BARREN_SECONDS
        for tenant in drained:
            flow = self.known.pop(tenant, None)
            if flow is not None and tenant in barren:
                self._barren[tenant] = (flow.heads, until)

    def _leave_out_barren(self) -> None:
        now = self._looked_at
        self._barren = {one: found for one, found in self._barren.items() if found[1] > now}
        for tenant, (heads, _) in self._barren.items():
            if tenant in self.known and self.known[tenant].heads == heads:
                del self.known[tenant]
