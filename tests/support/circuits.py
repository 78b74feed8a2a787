"""A destination and what is known of it while it is called."""

from __future__ import annotations

from shared import redis_client
from tests.support.scripts import Moved

HOST = "api.example.com"


def live() -> Moved:
    """Return the scripts on Redis' own time."""
    redis = Moved()
    redis.at = int(redis_client.client().time()[0] * 1000 - redis.now)
    return redis
