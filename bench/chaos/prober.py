"""Asks the API all the time while something is away: what it answers, how soon, and what it kept.

One loop reads and one creates, each call made once, so that every status is seen. A creation
without an answer of 201 is repeated under its key until there is one. Every 201 names a task that
must exist afterwards, and no key may have made two.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.chaos.site import Site
from operations.proof.client import Answer, ApiClient

#: The status of a call without an answer: the connection was refused or broke, or it hung.
BROKEN, HUNG = 0, -1
_PAUSE_SECONDS = 0.2
#: How long a creation is repeated after the fault.
_SETTLE_SECONDS = 20.0
#: Far from the window: what is created for the probe must not run in it.
_RUNS_IN = timedelta(days=300)


@dataclass(frozen=True, slots=True)
class Probe:
    """One call and what came of it."""

    method: str
    status: int
    seconds: float
    at: float
    retry_after: bool = False


@dataclass(slots=True)
class Probes:
    """What a prober saw."""

    calls: list[Probe] = field(default_factory=list)
    #: Name of the task (one per key) -> id that a 201 told.
    created: dict[str, str] = field(default_factory=dict)
    #: Names whose creation never got a 201.
    unanswered: set[str] = field(default_factory=set)

    @property
    def statuses(self) -> Counter[int]:
        """Return how often each status came."""
        return Counter(one.status for one in self.calls)

    @property
    def longest(self) -> Probe:
        """Return the call that took longest."""
        return max(self.calls, key=lambda one: one.seconds)

    def problems(self, allowed: frozenset[int], answer_seconds: float) -> list[str]:
        """Return what was wrong with the answers, in words."""
        found = []
        wrong = {status: n for status, n in self.statuses.items() if status not in allowed}
        if wrong:
            found.append(f"API answered {wrong} (0: no connection, -1: hung)")
        if any(one.status == 503 and not one.retry_after for one in self.calls):
            found.append("503 without Retry-After")
        longest = self.longest
        if longest.seconds > answer_seconds:
            found.append(
                f"API took {longest.seconds:.1f} s for {longest.method} ({longest.status}),"
                f" bound {answer_seconds:g} s"
            )
        if self.unanswered:
            found.append(f"{len(self.unanswered)} creations never got a 201")
        return found

    def kept(self, stored: list[tuple[str, str]]) -> list[str]:
        """Return which 201s are not true of the stored tasks (name and id), in words."""
        by_name: dict[str, list[str]] = {}
        for name, task_id in stored:
            by_name.setdefault(name, []).append(task_id)
        lost = [name for name, told in self.created.items() if told not in by_name.get(name, [])]
        doubled = [name for name, ids in by_name.items() if len(ids) > 1]
        found = [f"{len(lost)} tasks with a 201 are gone, as {lost[0]}"] if lost else []
        return found + ([f"{len(doubled)} keys made two tasks"] if doubled else [])


class Prober:
    """Probes one installation."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._prefix = f"probe-{secrets.token_hex(4)}"
        self.seen = Probes()
        self._over = False
        # The same in every repetition, or it would be another call under the key.
        self._run_at = (datetime.now(UTC) + _RUNS_IN).isoformat()

    @asynccontextmanager
    async def probing(self) -> AsyncIterator[Probes]:
        """Probe during the block; at its end, repeat the creations that have no answer."""
        product = self._site.product
        async with ApiClient(product.base_url, product.api_key, tries=1) as client:
            loops = [
                asyncio.create_task(self._read(client)),
                asyncio.create_task(self._post(client)),
            ]
            try:
                yield self.seen
            finally:
                # Each call is waited for: one that was cut off would still be under way in the
                # server when its creation is repeated (409).
                self._over = True
                await asyncio.gather(*loops)
            await self._settle(client)

    def lost(self) -> list[str]:
        """Return which 201s are not true, in words."""
        stored = self._site.rows(
            "SELECT name, id::text FROM tasks WHERE name LIKE %s", (f"{self._prefix}%",)
        )
        return self.seen.kept([(name, task_id) for name, task_id in stored])

    async def create(self, client: ApiClient) -> bool:
        """Create one task; return whether the answer was 201."""
        name = f"{self._prefix}-{secrets.token_hex(6)}"
        self.seen.unanswered.add(name)
        return await self._create(client, name)

    async def _read(self, client: ApiClient) -> None:
        while not self._over:
            await self._call(client, "GET", "/v1/tasks?limit=1")
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _post(self, client: ApiClient) -> None:
        while not self._over:
            await self.create(client)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _create(self, client: ApiClient, name: str) -> bool:
        answer = await self._call(client, "POST", "/v1/tasks", self._definition(name), key=name)
        if answer is None or answer.status != 201:
            return False
        self.seen.created[name] = answer.json()["id"]
        self.seen.unanswered.discard(name)
        return True

    async def _settle(self, client: ApiClient) -> None:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while self.seen.unanswered and time.monotonic() < deadline:
            for name in sorted(self.seen.unanswered):
                await self._create(client, name)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _call(
        self, client: ApiClient, method: str, path: str, body: Any = None, *, key: str = ""
    ) -> Answer | None:
        began, at = time.monotonic(), time.time()
        answer: Answer | None = None
        try:
            answer = await client.call(method, path, body, key=key)
            status = answer.status
        except TimeoutError:
            status = HUNG
        except (OSError, EOFError):
            status = BROKEN
        told = answer is not None and "retry-after" in answer.headers
        self.seen.calls.append(Probe(method, status, time.monotonic() - began, at, told))
        return answer

    def _definition(self, name: str) -> dict[str, Any]:
        port = self._site.product.environment["RECEIVER_PORT"]
        return {
            "name": name,
            "type": "ONE_TIME",
            "schedule": {"run_at": self._run_at},
            "target": {"kind": "webhook", "url": f"http://127.0.0.1:{port}/ok", "method": "POST"},
        }
