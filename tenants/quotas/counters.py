"""The counters of tenants with quotas, in Redis: reserve before a write, settle with its commit.

A reservation belongs to the transaction in which it is made. The commit settles it; a rollback,
also of a savepoint, releases it. While Redis does not answer, every answer is None: callers refuse
nothing for it. Counters are never believed for long: :mod:`tasks.quotas` counts in the database.
"""

from __future__ import annotations

import threading
import weakref
from time import monotonic, time
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db import transaction

from shared.ids import new_id
from shared.redis_client import (
    FLYING_PREFIX,
    QUOTA_PREFIX,
    QUOTA_ROUND_KEY,
    ConnectionFailed,
    client,
    lua,
)
from tenants.quotas.limits import BURST_SECONDS, Limits

#: A reservation whose transaction neither commits nor rolls back within this time, because its
#: process has ended, counts until the next count after it.
OPEN_SECONDS = 120.0
#: More tasks than one call creates.
_MOST_OF_A_CALL = 100_000
#: After Redis has not answered, it is not asked for this long.
_AWAY_SECONDS = 10.0
#: A pass that was not continued for this long has lost its message.
_PASS_LOST_SECONDS = 600
_away_until = float("-inf")
_failing = False


class Amount(NamedTuple):
    """What the quotas of stored things count."""

    tasks: int = 0
    payload_bytes: int = 0


class Refused(NamedTuple):
    """The quota that a reservation would exceed, and its use as the counter has it."""

    quota: str
    used: int


class Seen(NamedTuple):
    """The counters before a count: what was reserved ever, and what is reserved now."""

    made: Amount
    open: Amount


class Counted(NamedTuple):
    """The counters, and the seconds since the epoch at which they were counted."""

    stored: Amount
    counted_at: float


class Spent(NamedTuple):
    """Whether a rate had room, the seconds until it has, and those until nothing is owed."""

    allowed: bool
    wait_seconds: float
    owed_seconds: float


class _Open(threading.local):
    """The reservations of this thread's open transaction."""

    def __init__(self) -> None:
        self.held: weakref.WeakSet[_Held] = weakref.WeakSet()


class _Held:
    """A reservation of an open transaction, which only the hook of its commit refers to.

    A rollback, also of a savepoint, drops the hook, and with it this: that releases it.
    """

    def __init__(self, tenant_id: UUID, amount: Amount) -> None:
        self.tenant_id = tenant_id
        self.amount = amount
        self.member = f"{new_id()} {amount.tasks} {amount.payload_bytes}"
        self._release = weakref.finalize(self, _ask, tenant_id, "release", *amount, self.member)
        self._release.atexit = False

    def forget(self) -> None:
        """Release nothing when this is dropped."""
        self._release.detach()
        _open.held.discard(self)

    def settle(self) -> None:
        """Count it as stored: its transaction has committed."""
        self.forget()
        _ask(self.tenant_id, "settle", self.member)


_open = _Open()


def reserve(tenant_id: UUID, amount: Amount, limits: Limits) -> Refused | bool | None:
    """Reserve an amount for the open transaction; return whether it is reserved.

    False where the counters have no count yet, None while Redis is away, Refused where a limit
    would be exceeded.
    """
    made = _Held(tenant_id, amount)
    most = [
        -1 if one is None else one for one in (limits.stored_tasks, limits.stored_payload_bytes)
    ]
    found = _ask(tenant_id, "reserve", *amount, made.member, *most, int(OPEN_SECONDS * 1000))
    if found is None:
        return None
    if found[0] == 1:
        _open.held.add(made)
        transaction.on_commit(lambda: made.settle(), robust=True)
        return True
    made.forget()
    if found[0] == 2:
        return False
    return Refused(("stored_tasks", "stored_payload_bytes")[found[1] - 1], found[2])


def held_here(tenant_id: UUID) -> Amount:
    """Return what the open transaction of this session has reserved for a tenant."""
    found = [held.amount for held in list(_open.held) if held.tenant_id == tenant_id]
    return Amount(sum(one.tasks for one in found), sum(one.payload_bytes for one in found))


def look(tenant_id: UUID, *, apart_seconds: float, patience_seconds: float = 0.0) -> Seen | None:
    """Return the counters as a count needs them.

    None while Redis is away, where the last count is no older than ``apart_seconds``, and where one
    was given up within ``patience_seconds``.
    """
    found = _ask(tenant_id, "look", int(apart_seconds * 1000), int(patience_seconds * 1000))
    if found is None or found[0] == 0:
        return None
    return Seen(Amount(*found[1:3]), Amount(*found[3:5]))


def give_up(tenant_id: UUID) -> None:
    """Note that a count took too long for a call: the next calls need not try it too."""
    _ask(tenant_id, "give_up")


def count(tenant_id: UUID, seen: Seen, stored: Amount) -> None:
    """Set the counters to what was counted in the database after the look.

    The count sees what its own transaction has written: that is not counted twice.
    """
    own = held_here(tenant_id)
    still_open = Amount(seen.open.tasks - own.tasks, seen.open.payload_bytes - own.payload_bytes)
    _ask(tenant_id, "count", *seen.made, *still_open, *stored)


def forget(tenant_id: UUID) -> None:
    """Let the next reservation count: nothing was reserved while the tenant had no limit."""
    _ask(tenant_id, "forget")


def read(tenant_id: UUID) -> Counted | None:
    """Return the counters; None while Redis is away or has no count of this tenant."""
    found = _ask(tenant_id, "read")
    if found is None or found[2] < 0:
        return None
    return Counted(Amount(found[0], found[1]), found[2] / 1000)


def in_flight(tenant_id: UUID) -> int | None:
    """Return how many executions of a tenant with a limit of them workers run; None without Redis.

    The start guard counts them.
    """
    try:
        return client().zcount(f"{FLYING_PREFIX}{tenant_id}", time() * 1000, "+inf")
    except ConnectionFailed:
        return None


def begin_pass() -> bool:
    """Return whether a count for all tenants may begin: False while another is under way.

    True while Redis is away.
    """
    try:
        return bool(client().set(QUOTA_ROUND_KEY, "", nx=True, ex=_PASS_LOST_SECONDS))
    except ConnectionFailed:
        return True


def continues_pass(after: str) -> bool:
    """Return whether the pass that goes on after a tenant is the one under way."""
    try:
        found: Any = client().get(QUOTA_ROUND_KEY)
    except ConnectionFailed:
        return True
    return found is None or (found.decode() if isinstance(found, bytes) else found) == after


def move_pass(after: str | None) -> None:
    """Note where the pass goes on; None where it has ended."""
    try:
        if after:
            client().set(QUOTA_ROUND_KEY, after, ex=_PASS_LOST_SECONDS)
        else:
            client().delete(QUOTA_ROUND_KEY)
    except ConnectionFailed:
        return


def spend(tenant_id: UUID, tasks: int, rate: int) -> Spent | None:
    """Spend the rate of creations for a number of tasks; 0 only asks. None while Redis is away."""
    numbers = (tasks, rate, rate * BURST_SECONDS, _MOST_OF_A_CALL)
    found = _eval("creations", [f"{QUOTA_PREFIX}{tenant_id}:rate"], *numbers)
    return None if found is None else Spent(bool(found[0]), found[1] / 1000, found[2] / 1000)


def _ask(tenant_id: UUID, operation: str, *arguments: Any) -> list[int] | None:
    key = f"{QUOTA_PREFIX}{tenant_id}"
    return _eval("quota", [key, f"{key}:open"], operation, *arguments)


def _eval(script: str, keys: list[str], *arguments: Any) -> list[int] | None:
    """Return the answer of the script; None while Redis does not answer."""
    global _away_until, _failing
    now = monotonic()
    if now < _away_until:
        return None
    if _failing:
        # One call finds out whether Redis is back: a server that hangs must not hold all threads.
        _away_until = now + _AWAY_SECONDS
    try:
        found = client().eval(lua(script), len(keys), *keys, *arguments)
    except ConnectionFailed:
        _failing, _away_until = True, monotonic() + _AWAY_SECONDS
        return None
    _failing, _away_until = False, float("-inf")
    return cast(list[int], found)
