"""Runs an attempt by the kind of its target: webhook, handler or command.

The worker's runner calls :meth:`Kinds.deliver` for each start. Work that has ended its workers
before runs in a process of its own, so that it takes no other work with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shared.addresses import TargetUrl
from wire.messages import Entry, Shared
from wire.outcomes import Outcome, ProgressRow
from wire.poison import ALONE_AFTER
from worker.endings import Ending, Kind, outcome_of
from worker.handlers.host import HandlerHost
from worker.interruption import Stopping
from worker.isolated_run import deliver_alone
from worker.programs.runner import CommandRunner
from worker.tally import Tally
from worker.webhooks import webhook_delivery


class Kinds:
    """Runs attempts of every kind in one worker; ``say`` puts a row into the outcome stream.

    ``ended`` counts the attempts that have ended here; ``now`` is Redis' clock.
    """

    def __init__(self, say: Callable[[ProgressRow], None], now: Callable[[], float]) -> None:
        self.ended = Tally(now)
        self._in_process = 0
        self._stopping = Stopping()
        self._client, self._webhooks = webhook_delivery()
        self._handlers = HandlerHost(say, self._stopping)
        self._commands = CommandRunner(self._stopping)

    @property
    def interruptible(self) -> bool:
        """Whether something runs that :meth:`interrupt` would end."""
        return self._in_process > 0

    def earliest_certificate_end(self) -> float | None:
        """Return when the first client certificate in use ends, in seconds since 1970."""
        return self._client.earliest_certificate_end()

    async def deliver(self, entry: Entry, batch: Shared, started: float) -> Outcome:
        """Run one attempt and return its outcome; ``started`` is on Redis' clock."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            kind = entry["target"].get("kind", "webhook")
            if kind != "webhook":
                found: Outcome | Ending = await self._in_a_process(kind, entry, batch)
            elif entry.get("lost", 0) >= ALONE_AFTER:
                found = await deliver_alone(entry, batch, started)
            else:
                return await self._webhooks.deliver(entry, batch, started)
        finally:
            self.ended.add()
        if not isinstance(found, Ending):
            return found
        at = datetime.fromtimestamp(started - batch["offset"], UTC)
        return outcome_of(entry, found, at + timedelta(seconds=loop.time() - began))

    def prepare(self, entry: Entry, batch: Shared) -> None:
        """Prepare an attempt before its time."""
        if entry["target"].get("kind", "webhook") == "webhook":
            self._webhooks.prepare(entry, batch)

    def address_of(self, entry: Entry, batch: Shared) -> TargetUrl | None:
        """Return what a webhook calls, where that is known before its request is made."""
        return self._webhooks.address_of(entry, batch)

    def interrupt(self, grace_seconds: float) -> None:
        """Ask handlers and commands to end, and kill after the grace those that do not."""
        self._stopping.say(grace_seconds)

    async def close(self) -> None:
        """Close connections and end processes; nothing may run any more."""
        await self._handlers.close()
        await self._client.close()

    async def _in_a_process(self, kind: str, entry: Entry, batch: Shared) -> Ending:
        self._in_process += 1
        try:
            if kind == "handler":
                return await self._handlers.run(entry)
            if kind == "command":
                return await self._commands.run(entry, batch)
        finally:
            self._in_process -= 1
        # A kind of a later version: another worker may know it.
        return Ending(Kind.FAILED, "internal", f"This worker knows no target of kind {kind}.")
