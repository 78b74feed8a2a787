"""The installation that ``up`` runs on this data directory: its addresses and its processes.

A storm signals only processes that the runtime file names, and each one again only after it has
lived for a while: a storm does not measure the supervisor's wait before restarts.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import redis

from launcher import local_state
from launcher.run_lock import holder
from launcher.supervised_process import Backoff
from launcher.web_probe import answers_ok
from operations.storm.order import FLUSH, KINDS, SERVERS, Order
from shared.addresses import AllowList
from shared.commands import wrong_use
from shared.exceptions import Conflict, Unavailable
from shared.redis_client import OUTCOME_STREAM

#: The load runs in the pool of these workers; workers of other pools get none of it.
_LOADED_WORKER = re.compile(r"worker-\d+")
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Process:
    """A process that lives now."""

    kind: str
    name: str
    pid: int
    restarts: int
    started_at: float


@dataclass(frozen=True, slots=True)
class Ground:
    """The installation that runs here."""

    data_dir: Path
    local_url: str
    receiver_url: str
    redis_url: str

    def living(self, kind: str) -> list[Process]:
        """Return the processes of a kind of the order that live now."""
        return [
            Process(**{name: one[name] for name in Process.__dataclass_fields__})
            for one in self._listed()
            if one["pid"] is not None
            and one["kind"] == KINDS[kind]
            and (kind != "worker" or _LOADED_WORKER.fullmatch(one["name"]))
        ]

    def targets(self, kind: str) -> list[Process]:
        """Return the processes to kill now: never restarted, or alive for a while since."""
        quiet = time.time() - Backoff().forgotten_after_seconds
        return [one for one in self.living(kind) if not one.restarts or one.started_at <= quiet]

    def forget_all(self) -> None:
        """Empty the embedded Redis; raise ConnectionError when it is away."""
        with redis.Redis.from_url(self.redis_url, socket_timeout=5) as client:
            client.flushall()

    def unrecorded_since_ns(self) -> int | None:
        """Return when the oldest outcome came that waits in Redis; None where none does.

        A recorder removes what it has recorded. Raise RedisError when Redis is away.
        """
        with redis.Redis.from_url(self.redis_url, socket_timeout=5) as client:
            oldest = cast("list[tuple[bytes, object]]", client.xrange(OUTCOME_STREAM, count=1))
        if not oldest:
            return None
        milliseconds, _, _ = oldest[0][0].partition(b"-")
        return int(milliseconds) * 1_000_000

    async def until_recovered(self, seconds: float) -> bool:
        """Wait until every process lives and workers take work; return whether that was in time."""
        address = urlsplit(self.local_url)
        deadline = time.monotonic() + seconds
        while True:
            if all(one["pid"] is not None for one in self._listed()) and await answers_ok(
                address.hostname or "", address.port or 80, "/readyz"
            ):
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS)

    def _listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = local_state.load_runtime(self.data_dir).get("processes", [])
        return found


def find_ground(data_dir: Path, order: Order) -> Ground:
    """Return the installation that runs on the data directory.

    Raise Unavailable if none runs, InvalidInput if the order does not fit it, Conflict if another
    release started it or webhooks may not reach the receiver of ``up``.
    """
    runtime = local_state.load_runtime(data_dir)
    if holder(data_dir) is None or not runtime:
        raise Unavailable(f"Punctual does not run on {data_dir}. Start it with `manage.py up`.")
    if "local_url" not in runtime:
        raise Conflict("Another release started the running installation. Start it again.")
    _require_embedded(runtime, order)
    _require_receiver(runtime)
    return Ground(data_dir, runtime["local_url"], runtime["receiver_url"], runtime["redis_url"])


def _require_embedded(runtime: dict[str, Any], order: Order) -> None:
    kinds = {one["kind"] for one in runtime["processes"]}
    if "web" not in kinds:
        raise Unavailable("Punctual is still starting.")
    for kind in order.kinds:
        if KINDS[kind] not in kinds:
            what = "is a server of its own" if kind in SERVERS else "is not run by it"
            raise wrong_use("--kill", f"{kind} {what} and cannot be killed here.")
    if order.flush and KINDS["redis"] not in kinds:
        raise wrong_use(f"--{FLUSH}", "Redis is a server of its own; others may use it.")


def _require_receiver(runtime: dict[str, Any]) -> None:
    if not runtime["receiver_url"]:
        raise Conflict(
            "The storm counts at the test receiver, which TEST_RECEIVER=false turns off. "
            "Start Punctual with TEST_RECEIVER=true."
        )
    address = urlsplit(runtime["receiver_url"])
    allowed = AllowList(runtime["webhook_allowed_networks"].replace(",", " ").split())
    if not allowed.allows(ip_address(address.hostname or ""), address.port or 80):
        raise Conflict(
            f"Webhooks may not reach {runtime['receiver_url']}, where the storm counts. Add "
            f"{address.hostname}/32:{address.port} to WEBHOOK_ALLOWED_NETWORKS and start again."
        )
