"""The live workers, by their heartbeats in Redis.

A worker knows no database, so it says in Redis that it lives and what it can take; schedulers
and operators read it here. Redis' own clock stamps and judges the heartbeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import orjson

from shared.conf import conf
from shared.redis_client import WORKER_INFO_KEY, WORKERS_KEY, client, lua


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker as it described itself; ``silent_seconds`` since its last heartbeat."""

    id: str
    silent_seconds: float
    pool: str
    slots: int
    hold: int
    details: dict[str, Any]

    @property
    def live(self) -> bool:
        """Whether its heartbeat is fresh."""
        return self.silent_seconds < conf().worker_lost_seconds

    @property
    def takes_work(self) -> bool:
        """Whether it lives and is not draining."""
        return self.live and not self.details.get("draining", False)


def workers() -> list[WorkerInfo]:
    """Return every worker that Redis knows, also lost ones of the last day."""
    redis = client()
    stamp = redis.time()
    now = stamp[0] + stamp[1] / 1e6
    beats = cast(list[tuple[bytes, float]], redis.zrange(WORKERS_KEY, 0, -1, withscores=True))
    if not beats:
        return []
    names = [name for name, _ in beats]
    described = cast(list[bytes | None], redis.hmget(WORKER_INFO_KEY, [n.decode() for n in names]))
    found = []
    for (name, beat), raw in zip(beats, described, strict=True):
        details = orjson.loads(raw) if raw else {}
        found.append(
            WorkerInfo(
                id=name.decode(),
                silent_seconds=max(0.0, now - beat),
                pool=str(details.get("pool", "default")),
                slots=int(details.get("slots", 0)),
                hold=int(details.get("hold", 0)),
                details=details,
            )
        )
    return found


def forget_old(silent_seconds: float = 86400.0) -> int:
    """Forget workers that have been silent for a day; return how many."""
    gone = [worker.id for worker in workers() if worker.silent_seconds > silent_seconds]
    if gone:
        client().zrem(WORKERS_KEY, *gone)
        client().hdel(WORKER_INFO_KEY, *gone)
    return len(gone)


def remove(worker: str) -> None:
    """Forget a worker that has stopped in order."""
    client().zrem(WORKERS_KEY, worker)
    client().hdel(WORKER_INFO_KEY, worker)


def beat_script() -> str:
    """Return the script with which a worker beats through its own connection."""
    return lua("beat")
