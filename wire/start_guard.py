"""The start guard: decides in Redis, atomically, which work may start and which has started.

Code that takes released work back (edit, pause, cancel, rescue) calls :func:`void` first; only
voided work may change in the database as unstarted. Workers ask ``start`` through their own
connection. Silence is never consent: work sent under another incarnation of Redis never starts.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import cast

from shared.exceptions import Unavailable
from shared.redis_client import INCARNATION_KEY, ConnectionFailed, client, lua

GO = 1
#: Go, as the one call that finds out whether a destination with an open circuit works again.
PROBE = 2
#: Go, in a place of its destination that is to be given back.
PLACED = 3
VOID = 0
STALE = -1
LATE = -2
#: Its destination has no room; these come with the moment (ms) until which that holds.
CIRCUIT_OPEN = -3
NO_SLOT = -4
NO_PLACE = -5
#: The rate's next slot is kept for it: it is to ask again at that moment (ms).
SLOT_KEPT = -6
#: Its tenant has reached a limit: of executions a second, or in flight.
TENANT_NO_SLOT = -7
TENANT_NO_PLACE = -8


def void(tokens: Sequence[int]) -> list[str]:
    """Take tokens back; answer '' for each that can no longer start, else its worker.

    Raise Unavailable when Redis cannot be asked: then nothing may be changed.
    """
    if not tokens:
        return []
    try:
        found = client().eval(lua("void"), 0, *tokens)
    except ConnectionFailed as error:
        raise Unavailable("Released work cannot be taken back now; nothing has changed.") from error
    return [answer.decode() for answer in cast(list[bytes], found)]


def mark_started(tokens: Sequence[int], worker: str, incarnation: str, seconds: float) -> None:
    """Mark leased work as started by a worker outside, for as long as its first lease may last.

    Raise Unavailable when Redis cannot be asked or its incarnation has changed: then no worker may
    get the work, since an edit or a cancel could take it back unnoticed.
    """
    if not tokens:
        return
    try:
        marked = client().eval(
            lua("mark"), 1, INCARNATION_KEY, incarnation, worker, math.ceil(seconds), *tokens
        )
    except ConnectionFailed as error:
        raise Unavailable("Work cannot be leased now; nothing has changed.") from error
    if not marked:
        raise Unavailable("Redis has been restarted; nothing has changed. Try again.")


def settle(tokens: Sequence[int]) -> None:
    """Let the marks of recorded tokens expire soon, so that Redis stays small."""
    if tokens:
        client().eval(lua("settle"), 0, *tokens)


def current_incarnation() -> str:
    """Return the incarnation of Redis, renewed when the server restarted or lost the value.

    A restarted server may have lost marks of its last second, a flushed one all of them, so
    everything that was sent before is void.
    """
    redis = client()
    asked = redis.pipeline(transaction=False)
    asked.info("server")
    asked.get(INCARNATION_KEY)
    server, found = cast(tuple[dict[str, object], bytes | None], tuple(asked.execute()))
    run_id = str(server["run_id"])
    if found and found.decode().startswith(f"{run_id}:"):
        return found.decode()
    made = f"{run_id}:{secrets.token_hex(8)}"
    if found is None:
        redis.set(INCARNATION_KEY, made, nx=True)
    else:
        # Two schedulers may renew at once; the later one wins and the earlier's work is void.
        redis.set(INCARNATION_KEY, made)
    return cast(bytes, redis.get(INCARNATION_KEY) or made.encode()).decode()


def renew_incarnation() -> str:
    """Give Redis a new incarnation: everything that was sent before is void."""
    client().delete(INCARNATION_KEY)
    return current_incarnation()
