"""A Redis that is away: what tests put in the place of the shared client."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def closed_redis() -> redis.Redis:
    """Return a client whose every call fails at once, on a port where nobody listens.

    It does not retry: the default of the library waits for seconds between its tries, long enough
    for the database to end the test's idle transaction.
    """
    return redis.Redis(host="127.0.0.1", port=1, retry=Retry(NoBackoff(), 0))
