"""Connections to Redis or Valkey, and its keys; the one place that knows the URL.

Everything in Redis can be lost. Callers on the database side turn ``ConnectionFailed`` into
waiting or into 503; nothing is ever read from Redis as a truth about the past.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from django.conf import settings
from redis._parsers.base import BaseParser
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared import silence


class WritesRefused(redis.ConnectionError):
    """Redis answers and refuses every write: for want of memory or disk, or as a replica.

    Callers treat this as a server that is away for now. Celery's workers end at any other error
    of Redis, and would end their running work too.
    """


BaseParser.EXCEPTION_CLASSES.update(dict.fromkeys(("OOM", "MISCONF", "READONLY"), WritesRefused))

#: Errors that a call raises when Redis does not answer.
ConnectionFailed = (redis.ConnectionError, redis.TimeoutError, OSError)

OUTCOME_STREAM = "punctual:outcomes"
OUTCOME_GROUP = "recorders"
#: A list of at most one element: there is one while the stream has an outcome that others wait for.
OUTCOME_PROMPT = "punctual:outcomes:prompt"
INCARNATION_KEY = "punctual:incarnation"
WORKERS_KEY = "punctual:workers"
WORKER_INFO_KEY = "punctual:worker_info"
#: Hash: worker -> what operators wish of it (:mod:`wire.worker_wishes`).
WORKER_WISHES_KEY = "punctual:worker_wishes"
#: Before a minute's number: hash of pull worker -> attempts that it ended.
ENDED_PREFIX = "punctual:worker_ended:"
CONTROL_CHANNEL = "punctual:control"
CLOCKS_KEY = "punctual:clocks"
#: Before the digest of who makes calls of the API: when the calls of the last moment are forgotten.
RATE_PREFIX = "punctual:rate:"
#: Before a tenant's id: what it stores, as far as it is limited, and its rate of creations.
QUOTA_PREFIX = "punctual:quota:"
#: The tenant after which the pass that counts for quotas continues.
QUOTA_ROUND_KEY = "punctual:quota_pass"
#: Before a destination's name or a tenant's id: the executions that have its places.
FLYING_PREFIX = "punctual:flying:"
#: Before the name of a pool whose capacity due work waits for.
SCARCE_PREFIX = "punctual:scarce:"
#: Hash: kind of refusal -> how often.
REFUSED_KEY = "punctual:refused"
#: Hash: what became of spans -> how many.
SPANS_KEY = "punctual:spans"
#: Before the id of a start of Redis: hash of name of a count of web processes -> how often since.
COUNTS_KEY = "punctual:counts"

#: A line of a script that a part of it replaces.
_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
_LUA = Path(__file__).resolve().parent.parent / "wire" / "lua"


#: How long a call waits for the answer, and for the connection; a blocking read a second longer.
ANSWER_SECONDS = 2.0


@cache
def client() -> redis.Redis:
    """Return this process's shared, thread-safe client.

    The client reconnects once after a lost connection. It does not ask a server that hangs
    again: that wait takes seconds in which a scheduler must renew its leases.
    """
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        **silence.redis_options(settings.REDIS_URL),
    )


def blocking_client(timeout_seconds: float) -> redis.Redis:
    """Return a client of its own for reads that block up to the given time."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=timeout_seconds + ANSWER_SECONDS + 1,
        socket_connect_timeout=ANSWER_SECONDS + 1,
        **silence.redis_options(settings.REDIS_URL),
    )


def async_client(**options: Any) -> redis.asyncio.Redis:
    """Return an asyncio client of its own."""
    made = redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=3,
        **silence.redis_options(settings.REDIS_URL),
        **{"socket_timeout": 5, **options},
    )
    pool = made.connection_pool
    pool.connection_class = _telling(pool.connection_class)
    return made


def _telling(base: Any) -> Any:
    """Return a class of connections that reports a lost one as ConnectionError.

    The client takes the kernel's ETIMEDOUT for its own timeout and writes on. uvloop answers a
    write to a closed transport with RuntimeError, which no caller handles.
    """

    class Telling(base):  # type: ignore[misc]  # the class depends on the URL
        async def send_packed_command(self, *arguments: Any, **keywords: Any) -> None:
            try:
                await super().send_packed_command(*arguments, **keywords)
            except RuntimeError as error:
                raise redis.ConnectionError(f"the connection is gone: {error}") from error

    return Telling


@cache
def lua(name: str) -> str:
    """Return the text of a script of ``wire/lua``, with its parts (``-- include: name``)."""
    text = (_LUA / f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda part: lua(part[1]), text)
