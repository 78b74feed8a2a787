"""How many calls a caller may make: a rate for each key or subject, and a part of each process.

The rate is counted in Redis, for all web processes together; without Redis no call is refused for
it. The part of a process is counted there: callers of one tenant whose calls take long leave a
quarter of its connections to the database to others. A tenant without limits has neither, and the
calls of workers, which wait for work and report on it, do not count.
"""

from __future__ import annotations

import math
import threading
from hashlib import sha256
from itertools import count
from time import monotonic
from typing import Any, NamedTuple, cast
from uuid import UUID

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from api.protocol.authentication import Credentials
from api.protocol.permissions import required_scope
from shared.conf import conf
from shared.exceptions import PunctualError
from shared.redis_client import RATE_PREFIX, ConnectionFailed, client, lua
from shared.web_pool import POOL

#: Threads of a web process that work on requests: more than there are connections to the database,
#: so that requests that need none are answered meanwhile.
THREADS = 16
#: Slow calls of one tenant that a web process works on at a time: each holds one of the process's
#: connections to the database, of which it leaves a quarter to others.
MOST_AT_ONCE = POOL["max_size"] * 3 // 4
SLOW_SECONDS = 1.0
#: A key may make the calls of this many seconds at once.
BURST_SECONDS = 2
#: After Redis has not answered, it is not asked for this long.
_AWAY_SECONDS = 10.0


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
    rate: int

    def headers(self) -> dict[str, str]:
        """Return the fields of the IETF's draft "RateLimit header fields for HTTP"."""
        most = self.rate * BURST_SECONDS
        return {
            "RateLimit-Policy": f'"calls";q={most};w={BURST_SECONDS}',
            "RateLimit": f'"calls";r={self.left};t={self.full_in}',
        }


class CallRate(BaseThrottle):
    """A throttle of REST framework: it asks before a call is worked on."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Spend a call of the key's rate; raise RateLimited where it has none left."""
        if not counts(request, view):
            return True
        caller = cast(Credentials, request.auth)
        rate = calls_per_second(caller)
        found = _spend(caller.who, rate) if rate else None
        if rate is None or found is None:
            return True
        allowed, left, next_in, full_in = found
        request.spent = Spent(left, math.ceil(full_in / 1000), rate)  # type: ignore[attr-defined]  # read by the view
        if not allowed:
            raise RateLimited(
                f"This key may make {rate} calls a second, and {rate * BURST_SECONDS} at once.",
                max(1, math.ceil(next_in / 1000)),
            )
        return True


def counts(request: Request, view: Any) -> bool:
    """Return whether a call counts: of a key whose tenant has limits, and not the work of a worker.

    A fleet of workers shares a key, and its leases wait for work and return together.
    """
    caller = cast(object, request.auth)
    if not isinstance(caller, Credentials) or caller.unlimited:
        return False
    needed = required_scope(view, request.method or "")
    return not (needed == "worker" and needed in caller.scopes)


def calls_per_second(caller: Credentials) -> int | None:
    """Return how many calls the caller may make a second, None for any number.

    A limit of the tenant takes the place of the installation's.
    """
    if caller.unlimited:
        return None
    return caller.limits.calls_per_second or conf().api_calls_per_second or None


class _Away:
    """Whether Redis did not answer the last time, and until when it is not asked again."""

    failing = False
    until = float("-inf")


def _spend(caller: str, rate: int) -> tuple[int, int, int, int] | None:
    """Return the answer of the script; None while Redis does not answer."""
    now = monotonic()
    if now < _Away.until:
        return None
    if _Away.failing:
        # One call finds out whether Redis is back: a server that hangs must not hold all threads.
        _Away.until = now + _AWAY_SECONDS
    key = RATE_PREFIX + sha256(caller.encode()).hexdigest()
    try:
        found = client().eval(lua("rate"), 1, key, rate, rate * BURST_SECONDS)
    except ConnectionFailed:
        _Away.failing, _Away.until = True, monotonic() + _AWAY_SECONDS
        return None
    _Away.failing, _Away.until = False, float("-inf")
    return cast(tuple[int, int, int, int], tuple(cast(list[int], found)))


class AtOnce:
    """The calls of each tenant that this process works on, with the moments of their begin.

    A tenant has at most ``most`` at a time once the oldest of them takes longer than
    ``SLOW_SECONDS``: quick calls wait for a thread, as those of others do.
    """

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._calls: dict[UUID, dict[int, float]] = {}
        self._numbers = count()

    def begin(self, tenant_id: UUID) -> tuple[UUID, int]:
        """Count a call that begins; raise RateLimited where the tenant has no room for it.

        The answer is for :meth:`end`.
        """
        now = monotonic()
        with self._lock:
            own = self._calls.setdefault(tenant_id, {})
            if len(own) < self._most or now - next(iter(own.values())) < SLOW_SECONDS:
                number = next(self._numbers)
                own[number] = now
                return tenant_id, number
        raise RateLimited(f"{self._most} calls of this tenant are being answered here.", 1)

    def end(self, call: tuple[UUID, int]) -> None:
        """Count a call that has ended."""
        tenant_id, number = call
        with self._lock:
            own = self._calls[tenant_id]
            del own[number]
            if not own:
                del self._calls[tenant_id]


#: Those of this process.
at_once = AtOnce()
