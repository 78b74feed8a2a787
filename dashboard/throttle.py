"""Slows down guessing of passwords: counted per account and per address, in Redis.

A Redis that is away lets people in to mend it; the password still has to be right.
"""

from __future__ import annotations

import hashlib
import logging

from shared.redis_client import ConnectionFailed, client

log = logging.getLogger(__name__)

#: Failures in the window after which further tries are refused unseen.
MAX_FAILURES = 10
WINDOW_SECONDS = 300


def is_refused(*subjects: str) -> bool:
    """Return whether one of these (an account, an address) has failed too often."""
    try:
        return any(int(count or 0) >= MAX_FAILURES for count in client().mget(_keys(subjects)))
    except ConnectionFailed as error:
        log.warning("login_throttle_without_redis", extra={"reason": type(error).__name__})
        return False


def note_failure(*subjects: str) -> None:
    """Count one failure of each."""
    try:
        with client().pipeline(transaction=True) as pipeline:
            for key in _keys(subjects):
                pipeline.incr(key)
                pipeline.expire(key, WINDOW_SECONDS, nx=True)
            pipeline.execute()
    except ConnectionFailed as error:
        log.warning("login_throttle_without_redis", extra={"reason": type(error).__name__})


def forget_failures(subject: str) -> None:
    """Start anew after a success."""
    try:
        client().delete(*_keys((subject,)))
    except ConnectionFailed as error:
        log.warning("login_throttle_without_redis", extra={"reason": type(error).__name__})


def _keys(subjects: tuple[str, ...]) -> list[str]:
    # A user name is no part of a key as it is: it may be somebody's password, typed too early.
    return [f"punctual:login:{hashlib.sha256(one.encode()).hexdigest()}" for one in subjects]
