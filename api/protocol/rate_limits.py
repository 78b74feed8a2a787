"""How many calls a caller may make: a rate for each key, and a part of each web process.

The rate is counted in Redis, for all web processes together; without Redis no call is refused for
it. The part of a process is counted there: callers of one tenant whose calls take long leave a
quarter of its threads to others. A tenant without limits has neither, and the calls of workers,
which wait for work and report on it, have no rate.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from hashlib import sha256
from typing import Any, NamedTuple, cast
from uuid import UUID

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from api.protocol.authentication import Credentials
from api.protocol.permissions import required_scope
from shared.conf import conf
from shared.exceptions import PunctualError
from shared.redis_client import RATE_PREFIX, ConnectionFailed, client, lua

#: Threads of a web process that work on requests: more than there are connections to the database,
#: so that requests that need none are answered meanwhile.
THREADS = 16
#: Calls of one tenant that a web process works on at a time.
MOST_AT_ONCE = THREADS * 3 // 4
#: A key may make the calls of this many seconds at once.
BURST_SECONDS = 2
#: After Redis has not answered, it is not asked for this long.
_AWAY_SECONDS = 1.0


class RateLimited(PunctualError):
    """The caller makes more calls than it may; ``retry_after`` whole seconds until the next."""

    code = "rate_limited"
    status = 429

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Spent(NamedTuple):
    """What is left of a rate: calls that could follow at once, seconds until all could."""

    left: int
    full_in: int

    def headers(self) -> dict[str, str]:
        """Return the fields of the IETF's draft "RateLimit header fields for HTTP"."""
        most = conf().api_calls_per_second * BURST_SECONDS
        return {
            "RateLimit-Policy": f'"calls";q={most};w={BURST_SECONDS}',
            "RateLimit": f'"calls";r={self.left};t={self.full_in}',
        }


class CallRate(BaseThrottle):
    """A throttle of REST framework: it asks before a call is worked on."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Spend a call of the key's rate; raise RateLimited where it has none left."""
        caller = cast(object, request.auth)
        if not isinstance(caller, Credentials):
            return True
        rate = calls_per_second(caller)
        if rate is None or required_scope(view, request.method or "") == "worker":
            return True
        found = _spend(caller.identity, rate)
        if found is None:
            return True
        allowed, left, next_in, full_in = found
        request.spent = Spent(left, math.ceil(full_in / 1000))  # type: ignore[attr-defined]
        if not allowed:
            raise RateLimited(
                f"This key may make {rate} calls a second, and {rate * BURST_SECONDS} at once.",
                max(1, math.ceil(next_in / 1000)),
            )
        return True


def calls_per_second(caller: Credentials) -> int | None:
    """Return how many calls the caller may make a second, None for any number."""
    return None if caller.unlimited else conf().api_calls_per_second or None


class _Away:
    """Since when Redis is known not to answer, by the process's own clock."""

    until = float("-inf")


def _spend(caller: str, rate: int) -> tuple[int, int, int, int] | None:
    """Return the answer of the script; None while Redis does not answer."""
    if time.monotonic() < _Away.until:
        return None
    key = RATE_PREFIX + sha256(caller.encode()).hexdigest()
    try:
        found = client().eval(lua("rate"), 1, key, rate, rate * BURST_SECONDS)
    except ConnectionFailed:
        _Away.until = time.monotonic() + _AWAY_SECONDS
        return None
    return cast(tuple[int, int, int, int], tuple(cast(list[int], found)))


class AtOnce:
    """Counts the calls of each tenant that this process works on."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._calls: Counter[UUID] = Counter()

    def begin(self, tenant_id: UUID) -> None:
        """Count a call that begins; raise RateLimited where the tenant has as many as it may."""
        with self._lock:
            if self._calls[tenant_id] < self._most:
                self._calls[tenant_id] += 1
                return
        raise RateLimited(f"{self._most} calls of this tenant are being answered here.", 1)

    def end(self, tenant_id: UUID) -> None:
        """Count a call that has ended."""
        with self._lock:
            self._calls[tenant_id] -= 1
            if not self._calls[tenant_id]:
                del self._calls[tenant_id]


#: Those of this process.
at_once = AtOnce()
