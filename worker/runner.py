"""Stage 3, in the worker: start each execution at its millisecond, deliver it, report its outcome.

Lives on one event loop and never blocks it; knows Redis and the broker, no database. Work waits
in a heap by due time, then for a free slot in the order of tenants' shares (``lanes``). The start
guard decides in one call about all starts of a tick, also by the limits of their destinations. The
worker hands back work that cannot start in time, or not now, and drops nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import redis

from shared.conf import conf
from shared.log_context import ids_of_work
from tasks.versions import is_of_step
from wire import destination_key, start_guard
from wire.messages import Entry, Message
from wire.outcomes import Outcome
from worker.clock import WorkerClock
from worker.entries import Flying, Held, Question, Reports, internal_failure
from worker.hold_bytes import HoldBytes, sizes_of
from worker.lanes import LOOK_SECONDS, Lanes
from worker.outbox import Outbox
from worker.tenant_places import TenantPlaces
from worker.timer_heap import Waiting

log = logging.getLogger("executions.engine.run")

#: A start is announced only when the request takes longer; a quick one reports its end alone.
_ANNOUNCE_AFTER_SECONDS = 0.1
_GUARD_RETRY_SECONDS = 0.2
#: Freed slots are gathered for this long, or until there are this many, and given out together: a
#: question to the guard costs as much as starting several executions.
_GATHER_SECONDS = 0.01
_GATHER_SLOTS = 64

Deliver = Callable[[Entry, Message, float], Awaitable[Outcome]]
#: A verdict of the guard, with a moment (ms on Redis' clock) where its destination has no room.
Verdict = int | Sequence[int]
AskGuard = Callable[[str, Sequence[Question]], Awaitable[Sequence[Verdict]]]

#: Verdict -> why work is handed back to wait in the database.
_DEFERRED = {
    start_guard.CIRCUIT_OPEN: destination_key.CIRCUIT_OPEN,
    start_guard.NO_SLOT: destination_key.RATE,
    start_guard.TENANT_NO_SLOT: destination_key.TENANT_RATE,
}


class Runner:
    """The worker's heap and slots.

    ``deliver(entry, batch, started)`` runs one attempt and returns its outcome;
    ``ask_guard(incarnation, questions)`` returns the start guard's verdicts.
    """

    def __init__(
        self,
        worker: str,
        clock: WorkerClock,
        outbox: Outbox,
        deliver: Deliver,
        ask_guard: AskGuard,
        reports: Reports,
    ) -> None:
        self.worker = worker
        self.draining = False
        self.flying: dict[int, Flying] = {}
        self._clock = clock
        self._outbox = outbox
        self._deliver = deliver
        self._ask_guard = ask_guard
        self._reports = reports
        self._waiting = Waiting()
        self._lanes = Lanes()
        self._tenants = TenantPlaces()
        self._hold_bytes = HoldBytes()
        self._asking = 0
        # The loop keeps only weak references to its tasks.
        self._starters: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._gathering: asyncio.TimerHandle | None = None
        self._freed = 0
        #: Requests in flight that may have to be announced, in order of start.
        self._unannounced: deque[Flying] = deque()
        self._announcer: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def held_count(self) -> int:
        """Executions that wait here for their time or a slot."""
        return len(self._waiting) + len(self._lanes) + len(self._tenants)

    def accept(self, batch: Message, size: int) -> None:
        """Take the entries of a batch that fit into the heap, and hand back the rest at once."""
        entries = batch["executions"]
        # As dispatch counts: one destination leaves half of the slots free, and more is held then.
        in_hand = self.held_count + len(self.flying) + self._asking
        room = max(0, conf().worker_hold + conf().worker_capacity - in_hand)
        if self.draining:
            room = 0
        sizes = sizes_of(entries, size)
        # The batch was made for all workers of the pool: another one may have room for the rest.
        for entry in entries[room:]:
            self._hand_back(entry)
        entries, now = entries[:room], self._clock.now()
        # All or nothing: a message that cannot be read leaves no half of itself behind.
        for held in [
            Held(entry["due"], entry["priority"], entry["token"], entry, batch, own)
            for entry, own in zip(entries, sizes, strict=False)
        ]:
            if not self._hold_bytes.add(held, now):
                self._hand_back(held.entry)
                continue
            # Work of a backlog is due already and does not wait for its time.
            (self._lanes if held.due <= now else self._waiting).put(held)
        self._tick()

    def cancel(self, tokens: Sequence[int]) -> None:
        """Abort the requests in flight under these tokens; each reports CANCELLED."""
        loop = asyncio.get_running_loop()
        for token in tokens:
            flight = self.flying.get(token)
            if flight and flight.task:
                flight.cancelled = True
                # After its first step: a task that is cancelled before it never runs, so that
                # nothing would be reported and its slot would stay taken.
                loop.call_soon(flight.task.cancel)

    def announce_running(self) -> None:
        """Report the start of requests that have been in flight for a while."""
        before = self._clock.now() - _ANNOUNCE_AFTER_SECONDS
        while self._unannounced and self._unannounced[0].started <= before:
            flight = self._unannounced.popleft()
            if flight.held.token in self.flying:
                self._outbox.put(
                    {
                        "verb": "started",
                        "id": flight.held.entry["id"],
                        "token": flight.held.token,
                        "worker": self.worker,
                        "at": flight.started,
                    }
                )
        self._arm_announcer()

    def _arm_announcer(self) -> None:
        """Check again while requests are to be announced; an idle worker has no timer."""
        if self._announcer:
            self._announcer.cancel()
        self._announcer = None
        if self._unannounced:
            self._announcer = asyncio.get_running_loop().call_later(
                _ANNOUNCE_AFTER_SECONDS, self.announce_running
            )

    def stop_taking(self) -> None:
        """Hand back all held work, and from now on all work that still arrives."""
        self.draining = True
        for held in [*self._waiting.clear(), *self._lanes.clear(), *self._tenants.clear()]:
            self._hold_bytes.remove(held)
            self._hand_back(held.entry)

    def take_again(self) -> None:
        """Take work again, after :meth:`stop_taking`."""
        self.draining = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held, asked for or in flight."""
        return not (self.flying or self._asking or self.held_count)

    async def drain(self, timeout_seconds: float) -> int:
        """Hand back held work, wait for requests in flight; return how many had to be left."""
        self.stop_taking()
        if self.flying or self._asking:
            try:
                async with asyncio.timeout(timeout_seconds):
                    await self._idle.wait()
            except TimeoutError:
                log.warning("drain.incomplete", extra={"count": len(self.flying)})
        return len(self.flying)

    def _tick(self) -> None:
        """Move due work to the lanes, start as much as fits, sleep until the next is due."""
        if self._gathering:
            self._gathering.cancel()
            self._gathering = None
        self._freed = 0
        now = self._clock.now()
        for held in self._waiting.take(now):
            self._lanes.put(held)
        if self._tenants:
            self._ask_again(now)
        if self._lanes.blocked:
            for held in self._lanes.overdue(now):
                self._hold_bytes.remove(held)
                self._reports.waited(held)
                self._defer(held.entry, destination_key.IN_FLIGHT, now)
        starting = self._lanes.take(conf().worker_capacity - len(self.flying) - self._asking, now)
        if starting:
            self._asking += len(starting)
            self._idle.clear()
            starter = asyncio.get_running_loop().create_task(self._start(starting))
            self._starters.add(starter)
            starter.add_done_callback(self._starters.discard)
        self._arm(now)

    def _ask_again(self, now: float) -> None:
        """Let work whose tenant may have a place again ask; hand back what could start too late."""
        for held in self._tenants.take(now):
            if now * 1000 < held.entry["start_by"]:
                self._lanes.put(held)
            else:
                self._hold_bytes.remove(held)
                self._defer(held.entry, destination_key.TENANT_IN_FLIGHT, now)

    def _arm(self, now: float) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        delays = self._waiting.next_in(now) + self._tenants.next_in(now)
        if self._lanes.blocked:
            delays.append(LOOK_SECONDS)
        if delays:
            self._timer = asyncio.get_running_loop().call_later(min(delays), self._tick)

    async def _start(self, starting: list[Held]) -> None:
        """Ask the guard about all starts of this tick, then deliver the work that it allows."""
        by_incarnation: dict[str, list[Held]] = {}
        for held in starting:
            by_incarnation.setdefault(held.batch["incarnation"], []).append(held)
        for incarnation, group in by_incarnation.items():
            verdicts = await self._verdicts(incarnation, group)
            self._asking -= len(group)
            if verdicts is None:
                self._retry_later(group)
                continue
            started = self._clock.now()
            for held, verdict in zip(group, verdicts, strict=True):
                self._judge(held, verdict, started)
        self._arm(self._clock.now())
        self._settle()

    async def _verdicts(self, incarnation: str, group: Sequence[Held]) -> Sequence[Verdict] | None:
        """Return the guard's answers, None when it cannot be asked now."""
        try:
            return await self._ask_guard(incarnation, [held.question() for held in group])
        except (redis.RedisError, OSError) as error:
            log.warning("start_guard.away", extra={"reason": str(error)})
        except Exception:  # slots that a fault of ours has taken would never come back
            log.exception("start_guard.crashed")
        return None

    def _judge(self, held: Held, verdict: Verdict, started: float) -> None:
        if not isinstance(verdict, int):
            self._no_room(held, verdict[0], verdict[1] / 1000)
            return
        self._hold_bytes.remove(held)
        if verdict in (start_guard.GO, start_guard.PROBE, start_guard.PLACED):
            flight = Flying(held, started, verdict)
            self.flying[held.token] = flight
            flight.task = asyncio.get_running_loop().create_task(self._run_one(flight))
            self._unannounced.append(flight)
            if self._announcer is None:
                self._arm_announcer()
            return
        self._lanes.give_back(held)
        if verdict in (start_guard.STALE, start_guard.LATE):
            self._hand_back(held.entry)
        # VOID: the process that voided it also changes the ledger.

    def _no_room(self, held: Held, verdict: int, until: float) -> None:
        """Keep work whose destination has no room for a near moment, or hand it back."""
        self._lanes.give_back(held)
        if verdict in _DEFERRED:
            self._hold_bytes.remove(held)
            self._defer(held.entry, _DEFERRED[verdict], until)
        elif self.draining:
            self._hold_bytes.remove(held)
            self._hand_back(held.entry)
        elif verdict == start_guard.NO_PLACE:
            self._lanes.refuse(held, until)
        elif verdict == start_guard.TENANT_NO_PLACE:
            self._tenants.refuse(held, until)
        else:
            held.due, held.exact = until, True
            self._waiting.put(held)

    def _retry_later(self, group: Sequence[Held]) -> None:
        """Redis cannot be asked: keep what may still start in time, hand back the rest."""
        now_ms = self._clock.now() * 1000
        for held in group:
            self._lanes.give_back(held)
            if self.draining or now_ms > held.entry["start_by"]:
                self._hold_bytes.remove(held)
                self._hand_back(held.entry)
            else:
                held.due = self._clock.now() + _GUARD_RETRY_SECONDS
                self._waiting.put(held)

    async def _run_one(self, flight: Flying) -> None:
        entry = flight.held.entry
        ids_of_work.set(flight.ids)
        try:
            await flight.until_due(self._clock.now)
            outcome = await self._deliver(entry, flight.held.batch, flight.started)
        except asyncio.CancelledError:
            if not flight.cancelled:
                raise
            outcome = {"verb": "cancelled", "outcome": "CANCELLED", "reason": "cancelled"}
        except Exception:  # one entry that cannot be handled must not be silent, nor stop others
            log.exception("attempt.crashed")
            now = self._clock.now() - flight.held.batch.get("offset", 0.0)
            outcome = internal_failure(entry, now)
        finally:
            self.flying.pop(entry["token"], None)
            self._lanes.ended(flight.held)
            if flight.held.tenant_limits:
                self._tenants.ended(flight.held)
        self._reports.ended(flight, outcome)
        self._outbox.put(
            {
                "id": entry["id"],
                "token": entry["token"],
                "attempt": entry["attempt"],
                "worker": self.worker,
                "started": flight.started,
                "at": self._clock.now(),
                **outcome,
            },
            prompt=is_of_step(entry["revision"]),
        )
        self._settle()

    def _settle(self) -> None:
        self._freed += 1
        enough = min(_GATHER_SLOTS, max(1, conf().worker_capacity // 4))
        if (len(self._lanes) or self._tenants) and (
            self._gathering is None or self._freed == enough
        ):
            if self._gathering:
                self._gathering.cancel()
            wait = _GATHER_SECONDS if self._freed < enough else 0.0
            self._gathering = asyncio.get_running_loop().call_later(wait, self._tick)
        if not self.flying and not self._asking:
            self._idle.set()

    def _hand_back(self, entry: Entry) -> None:
        self._outbox.put({"verb": "released", "id": entry["id"], "token": entry["token"]})

    def _defer(self, entry: Entry, reason: str, until: float) -> None:
        self._outbox.put(
            {
                "verb": "deferred",
                "id": entry["id"],
                "token": entry["token"],
                "reason": reason,
                "until": until,
            }
        )
