"""The live workers, by their heartbeats in Redis.

A worker knows no database, so it reports to Redis that it lives and what it can take. Schedulers
and operators read it here. Redis' own clock stamps and judges the heartbeats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, TypedDict, cast
from uuid import UUID

import orjson

from shared.conf import conf
from shared.redis_client import (
    ENDED_PREFIX,
    WORKER_INFO_KEY,
    WORKER_WISHES_KEY,
    WORKERS_KEY,
    client,
    lua,
)
from wire.worker_wishes import NO_WISH, Wish, decode

#: How long the counts of a minute wait to be written down.
ENDED_KEPT = timedelta(minutes=10)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_READABLE = 40
_DIGEST = 12


class Description(TypedDict, total=False):
    """What a worker says of itself with a heartbeat; a worker of another version may say less."""

    pool: str
    host: str
    pid: int
    #: Executions that it runs at once, and that it holds until their time.
    slots: int
    hold: int
    running: int
    held: int
    #: Attempts that have ended since its start, and in each minute of the last ones.
    ended: int
    ended_by_minute: dict[str, int]
    #: It takes no new work, because it stops or is quiet.
    draining: bool
    #: It has stopped taking new work, as an operator wishes. Older versions do not know wishes.
    quiet: bool
    version: str
    #: 100 is one core.
    cpu_percent: float | None
    memory_bytes: int | None
    #: When the first certificate ends that it shows to receivers, in seconds since 1970.
    certificate_ends_at: float | None
    #: Of a pull worker: its tenant's id, its own name, its labels.
    tenant: str
    name: str
    labels: dict[str, str]
    #: Seconds of silence after which it is lost.
    patience: float


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker as it described itself; ``silent_seconds`` since its last heartbeat.

    ``wish`` is what operators wish of it; it may not have read that yet.
    """

    id: str
    silent_seconds: float
    pool: str
    slots: int
    hold: int
    details: Description
    wish: Wish = NO_WISH

    @property
    def live(self) -> bool:
        """Whether its heartbeat is fresh; a pull worker beats only when it calls."""
        patience = float(self.details.get("patience", conf().worker_lost_seconds))
        return self.silent_seconds < patience

    @property
    def tenant(self) -> str | None:
        """The tenant's id of a pull worker, None for our own workers."""
        return self.details.get("tenant")

    @property
    def takes_work(self) -> bool:
        """Whether it lives and gets new work: it is neither quiet nor draining."""
        return self.state == "live"

    @property
    def state(self) -> str:
        """Return lost, draining, quiet or live.

        It is quiet from the moment of the wish, before it has read it, and until it has read that
        it may work again.
        """
        if not self.live:
            return "lost"
        quiet = self.details.get("quiet", False)
        # One that is quiet says that it drains, too, for schedulers of older versions.
        stops = self.details.get("draining", False) and not quiet
        if stops or self.wish.ends:
            return "draining"
        return "quiet" if quiet or not self.wish.takes_work else "live"

    @property
    def heeds(self) -> bool:
        """Whether its version reads wishes."""
        return "quiet" in self.details

    @property
    def is_settled(self) -> bool:
        """Whether it does as it is wished: it has stopped taking work, or takes it again."""
        return self.details.get("quiet", False) is not self.wish.takes_work


def workers(tenant_id: UUID | None = None) -> list[WorkerInfo]:
    """Return our own workers, also lost ones of the last day, and the pull workers of a tenant.

    No other tenant may see a tenant's pull workers.
    """
    shown = (None, str(tenant_id)) if tenant_id is not None else (None,)
    return [worker for worker in everyone() if worker.tenant in shown]


def everyone() -> list[WorkerInfo]:
    """Return every worker that Redis knows, also lost ones of the last day, of all tenants."""
    # In one round trip: schedulers and recorders ask every other second.
    asked = client().pipeline(transaction=False)
    asked.time()
    asked.zrange(WORKERS_KEY, 0, -1, withscores=True)
    asked.hgetall(WORKER_INFO_KEY)
    asked.hgetall(WORKER_WISHES_KEY)
    stamp, beats, described, wished = asked.execute()
    now = stamp[0] + stamp[1] / 1e6
    found = []
    for name, beat in beats:
        raw = described.get(name)
        details: Description = orjson.loads(raw) if raw else {}
        found.append(
            WorkerInfo(
                id=name.decode(),
                silent_seconds=max(0.0, now - beat),
                pool=str(details.get("pool", "default")),
                slots=int(details.get("slots", 0)),
                hold=int(details.get("hold", 0)),
                details=details,
                wish=decode(wished.get(name)),
            )
        )
    return found


def beat(worker: str, details: Description) -> None:
    """Beat for a worker that has no connection to Redis of its own."""
    client().eval(beat_script(), 2, WORKERS_KEY, WORKER_INFO_KEY, worker, orjson.dumps(details))


def touch(worker: str) -> None:
    """Note that a worker lives, if it has described itself before."""
    client().eval(lua("touch"), 1, WORKERS_KEY, worker)


def pull_worker_id(tenant_id: UUID, pool: str, name: str) -> str:
    """Return the id of a pull worker: readable, one path segment of a URL, and unique.

    ``pool`` is the name in the ledger. Names of workers may hold any character; the digest keeps
    apart those that read the same.
    """
    digest = sha256(f"{tenant_id}/{pool}/{name}".encode(errors="backslashreplace")).hexdigest()
    readable = _UNSAFE.sub("-", name).strip("-.")[:_READABLE]
    return f"{readable or 'worker'}@{pool}-{digest[:_DIGEST]}"


def count_ended(worker: str) -> None:
    """Count an attempt that a pull worker ended in this minute of Redis' clock; note its life."""
    client().eval(
        lua("ended"), 2, WORKERS_KEY, ENDED_PREFIX, worker, int(ENDED_KEPT.total_seconds())
    )


def ended_in(minute: datetime) -> dict[str, int]:
    """Return how many attempts each pull worker ended in a minute of the last ones."""
    found: dict[Any, Any] = client().hgetall(f"{ENDED_PREFIX}{int(minute.timestamp()) // 60}")
    return {name.decode(): int(count) for name, count in found.items()}


def forget_old(silent_seconds: float = 86400.0) -> int:
    """Forget workers that have been silent for a day, and wishes of workers that are gone.

    Return how many workers were forgotten.
    """
    # Before the workers: a wish is only ever written for a worker that is known.
    wished = {name.decode() for name in cast(list[bytes], client().hkeys(WORKER_WISHES_KEY))}
    known = everyone()
    gone = [worker.id for worker in known if worker.silent_seconds > silent_seconds]
    if gone:
        client().zrem(WORKERS_KEY, *gone)
        client().hdel(WORKER_INFO_KEY, *gone)
    if idle := wished - ({worker.id for worker in known} - set(gone)):
        client().hdel(WORKER_WISHES_KEY, *idle)
    return len(gone)


def remove(worker: str) -> None:
    """Forget a worker that has stopped in order."""
    client().zrem(WORKERS_KEY, worker)
    client().hdel(WORKER_INFO_KEY, worker)
    client().hdel(WORKER_WISHES_KEY, worker)


def beat_script() -> str:
    """Return the script with which a worker beats through its own connection."""
    return lua("beat")
