"""Members that were seen within a window of time, in Redis: bounded sets, one key for each name.

A set begins with its first member and expires when the window has passed. Names and members are
hashes, as data in Redis must not be readable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from shared.redis_client import client


def add(name: str, members: Sequence[str], window_seconds: int, most: int) -> list[bool]:
    """Add members to a set and return which of them were new; raise ConnectionFailed.

    A set that has ``most`` members takes no further one: these are new each time.
    """
    key, digests = _key(name), [_digest(member) for member in members]
    with client().pipeline(transaction=True) as pipeline:
        pipeline.smismember(key, digests)
        pipeline.scard(key)
        known, size = pipeline.execute()
    new = [not found for found in known]
    places = [place for place, is_new in enumerate(new) if is_new][: max(0, most - size)]
    if places:
        with client().pipeline(transaction=True) as pipeline:
            for place in places:
                pipeline.sadd(key, digests[place])
            pipeline.expire(key, window_seconds, nx=True)
            # Another session may have been faster.
            for place, added in zip(places, pipeline.execute(), strict=False):
                new[place] = bool(added)
    return new


def remove(name: str, members: Sequence[str]) -> None:
    """Make members new again; raise ConnectionFailed."""
    client().srem(_key(name), *[_digest(member) for member in members])


def _key(name: str) -> str:
    return f"punctual:seen:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()}"


def _digest(member: str) -> bytes:
    return hashlib.blake2b(member.encode(errors="surrogatepass"), digest_size=8).digest()
