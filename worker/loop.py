"""The event loop of a worker process: hosts the runner beside Celery, in a thread of its own.

Celery hands batches over and goes on; this loop starts, delivers and reports. It also beats,
keeps the clock, and listens for cancellations. When a part of it breaks, the whole process stops,
so that a supervisor starts it anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import orjson
import redis
import uvloop

from shared import cancelling
from shared.conf import conf
from shared.redis_client import (
    CONTROL_CHANNEL,
    INCARNATION_KEY,
    WORKER_INFO_KEY,
    WORKER_WISHES_KEY,
    WORKERS_KEY,
    async_client,
    lua,
)
from wire import start_guard, worker_wishes
from wire.heartbeats import Description
from wire.messages import Message
from wire.worker_wishes import Wish, Word
from worker.ahead import Ahead
from worker.clock import WorkerClock
from worker.entries import Question, ask_arguments
from worker.heeding import Heeding
from worker.kinds import Kinds
from worker.outbox import Outbox
from worker.reports import Reports
from worker.runner import Deliver, Runner, Verdict
from worker.traced_delivery import TracedDelivery
from worker.vitals import Vitals
from worker.watchdog import Watchdog, end_at_once, stop_process

log = logging.getLogger("executions.workers.loop")

#: Redis is away, or cannot do what it is asked; the loop waits for the end of both.
_REDIS_FAULTS = (redis.RedisError, OSError)
#: Often enough to send lost outcomes again before rescue takes the work for unstarted.
_LOOK_SECONDS = 0.5
_CALIBRATE_SECONDS = 2.0
#: A control connection that is silent this long gets a ping.
_SILENCE_SECONDS = 15.0
_FLUSH_SECONDS = 5.0
#: Handlers and commands that outlast the drain get this long to end when asked.
_INTERRUPT_SECONDS = 2.0


class WorkerLoop:
    """One worker process's runner with everything it needs; started once, drained once.

    ``on_fault`` is called when a part has broken, ``on_drained`` when the worker is empty as
    operators wish; both have to end the process.
    """

    def __init__(
        self,
        pool: str = "default",
        on_fault: Callable[[], None] = stop_process,
        on_drained: Callable[[], None] = stop_process,
    ) -> None:
        self.pool = pool
        name = os.environ.get("PROCESS_NAME", "worker")
        # A container that starts again has the same name and process id as before.
        one = secrets.token_hex(3)
        self.worker = f"{name}@{socket.gethostname()}:{os.getpid()}-{one}"
        self._on_fault, self._on_drained = on_fault, on_drained
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="worker-loop", daemon=True)
        self._watchdog = Watchdog()
        self._vitals = Vitals()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._run_id = ""

    def start(self) -> None:
        """Start the thread and wait until the loop takes work; raise the error that prevents it."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        self._watchdog.start()

    def accept(self, batch: Message, size: int) -> None:
        """Hand a batch to the loop; returns at once."""
        self._loop.call_soon_threadsafe(self._accept, batch, size)

    def read_queues_by(self, intake: Callable[[bool], None]) -> None:
        """Say how the queues of the pool are read, or left to others; see :class:`Heeding`."""
        self._heeding.intake = intake

    def stop_taking(self) -> None:
        """Hand back what is held and what still arrives; may be called by a signal handler."""
        # At once: a batch that arrives before the loop gets to the coroutine is not begun either.
        self._runner.draining = True
        self._heeding.stop()
        asyncio.run_coroutine_threadsafe(self._stop_taking(), self._loop)

    def drain(self, timeout_seconds: float) -> None:
        """Hand back held work, finish requests, flush outcomes, deregister, end the thread."""
        asyncio.run_coroutine_threadsafe(self._drain(timeout_seconds), self._loop).result(
            timeout_seconds + 2 * _FLUSH_SECONDS
        )
        self._watchdog.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_FLUSH_SECONDS)

    def _accept(self, batch: Message, size: int) -> None:
        self._runner.accept(batch, size)
        self._ahead.take(batch)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._set_up())
        except BaseException as error:  # noqa: BLE001 - raised again by start(), in its thread
            self._failure = error
            self._ready.set()
            return
        self._ready.set()
        try:
            self._loop.run_forever()
        except BaseException:
            log.critical("worker_loop.crashed", exc_info=True)
            end_at_once()
            raise

    async def _set_up(self) -> None:
        self._redis = async_client()
        self._guard_redis = async_client(
            single_connection_client=True, redis_connect_func=self._on_guard_connect
        )
        self._clock = WorkerClock()
        self._outbox = Outbox(self._redis)
        self._reports = Reports(self._redis)
        self._kinds = Kinds(self._outbox.put, self._clock.now)
        self._ahead = Ahead(self._kinds.prepare, self._clock.now)
        deliver: Deliver = self._kinds.deliver
        if conf().tracing is not None:
            deliver = TracedDelivery(deliver, self._kinds.address_of)
        self._runner = Runner(
            self.worker,
            self._clock,
            self._outbox,
            deliver,
            self._ask_guard,
            self._reports,
        )
        self._heeding = Heeding(self._runner, self._is_empty, self._claim_end, self._on_drained)
        self._start_script = self._guard_redis.register_script(lua("start"))
        await self._until_calibrated()
        self._tasks = [
            self._loop.create_task(job, name=name)
            for name, job in (
                ("outbox", self._outbox.run()),
                ("look", self._every(_LOOK_SECONDS, self._outbox.look)),
                ("reports", self._reports.run()),
                ("beat", self._every(conf().worker_heartbeat_seconds, self._beat)),
                ("clock", self._every(_CALIBRATE_SECONDS, self._calibrate)),
                ("control", self._listen()),
            )
        ]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop the process when a part that lives as long as the loop has ended."""
        if task.cancelled():
            return
        log.critical(
            "worker_part.crashed", extra={"part": task.get_name()}, exc_info=task.exception()
        )
        self._on_fault()

    async def _on_guard_connect(self, connection: Any) -> None:
        """Learn which server this connection speaks to, before the first question to it."""
        await connection.on_connect()
        await connection.send_command("INFO", "server")
        answer = await connection.read_response()
        text = answer.decode() if isinstance(answer, bytes) else str(answer)
        self._run_id = next(
            (line[7:].strip() for line in text.splitlines() if line.startswith("run_id:")), ""
        )

    async def _ask_guard(self, incarnation: str, asked: Sequence[Question]) -> Sequence[Verdict]:
        if self._reports.leaving:
            # The next request of a limited destination finds the place that the last one left.
            await self._reports.flush(self._guard_redis)
        destinations, arguments = ask_arguments(incarnation, self.worker, asked)
        verdicts = cast(
            list[Verdict],
            await self._start_script(keys=[INCARNATION_KEY, *destinations], args=arguments),
        )
        # A server that restarted may have lost marks of its last second although the value
        # came back from its log: work that was sent under another run of it may not start.
        if not incarnation.startswith(f"{self._run_id}:"):
            # The server's clock may be another one, too.
            await self._calibrate()
            return [start_guard.STALE] * len(asked)
        return verdicts

    async def _until_calibrated(self) -> None:
        while not self._clock.calibrated:
            try:
                await self._clock.calibrate(self._redis)
            except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
                log.warning("worker.waiting", extra={"reason": type(error).__name__})
                await asyncio.sleep(0.5)
        for _ in range(8):
            await self._clock.calibrate(self._redis)

    async def _every(self, seconds: float, job: Callable[[], Awaitable[None]]) -> None:
        while True:
            self._watchdog.answer()
            try:
                await job()
            except _REDIS_FAULTS as error:
                log.warning("worker.without_redis", extra={"reason": type(error).__name__})
            await asyncio.sleep(seconds)

    async def _calibrate(self) -> None:
        await self._clock.calibrate(self._redis)

    async def _beat(self) -> None:
        """Say what the worker does, and do as operators wish."""
        if await self._heeding.heed(await self._say()):
            # At once: schedulers send it work again, and operators see that they may stop it.
            await self._say()

    async def _say(self) -> Wish:
        """Send a heartbeat; return what operators wish."""
        found = await self._redis.eval(
            worker_wishes.heed_script(),
            3,
            WORKERS_KEY,
            WORKER_INFO_KEY,
            WORKER_WISHES_KEY,
            self.worker,
            orjson.dumps(self._description()),
            worker_wishes.encode(self._heeding.wish),
        )
        return worker_wishes.decode(found)

    def _is_empty(self) -> bool:
        return self._runner.is_empty and len(self._outbox) == 0

    async def _claim_end(self, wish: Wish) -> bool:
        """Return whether the worker is still to end; then no wish changes that any more."""
        versions = {self.worker: wish.version}
        keys, arguments = worker_wishes.change_arguments(Word.END, versions)
        script = worker_wishes.change_script()
        refused = await self._redis.eval(script, len(keys), *keys, *arguments)
        return not refused

    def _description(self) -> Description:
        """Return what the worker says of itself with a heartbeat."""
        vitals = self._vitals.read()
        return {
            "pool": self.pool,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "slots": conf().worker_capacity,
            "hold": conf().worker_hold,
            "running": len(self._runner.flying),
            "held": self._runner.held_count,
            "ended": self._kinds.ended.total,
            "ended_by_minute": self._kinds.ended.by_minute(),
            "draining": self._runner.draining,
            "quiet": self._heeding.quiet,
            "version": vitals.version,
            "cpu_percent": vitals.cpu_percent,
            "memory_bytes": vitals.memory_bytes,
            "certificate_ends_at": self._kinds.earliest_certificate_end(),
        }

    async def _listen(self) -> None:
        """Abort cancelled requests; where the connection was lost, the end of the lease does."""
        while True:
            connection = async_client()
            try:
                async with connection.pubsub() as control:
                    await control.subscribe(CONTROL_CHANNEL)
                    await self._hear(control)
            except _REDIS_FAULTS as error:
                log.warning("control_channel.lost", extra={"reason": type(error).__name__})
            finally:
                with contextlib.suppress(*_REDIS_FAULTS):
                    await connection.aclose()
            await asyncio.sleep(1.0)

    async def _hear(self, control: Any) -> None:
        asked = False
        while True:
            message = await control.get_message(timeout=_SILENCE_SECONDS)
            if message is None:
                if asked:
                    raise redis.ConnectionError("the control channel does not answer")
                await control.ping()
            asked = message is None
            if message is not None and message["type"] == "message":
                try:
                    self._runner.cancel(orjson.loads(message["data"])["cancel"])
                except (ValueError, KeyError, TypeError):
                    # Anybody with access to Redis can write here; it must not end a worker.
                    log.warning("control_message.refused")

    async def _stop_taking(self) -> None:
        # Sent before anything is handed back, or schedulers would dispatch it here again.
        self._runner.draining = True
        self._heeding.stop()
        await self._tell(self._say())
        self._runner.stop_taking()

    async def _drain(self, timeout_seconds: float) -> None:
        deadline = self._loop.time() + timeout_seconds
        await self._stop_taking()
        if await self._runner.drain(timeout_seconds) and self._kinds.interruptible:
            self._kinds.interrupt(_INTERRUPT_SECONDS)
            # Runs are killed after that grace; a run that is left then cannot be ended.
            await self._runner.drain(2 * _INTERRUPT_SECONDS)
        left = max(_FLUSH_SECONDS, deadline - self._loop.time())
        await self._tell(self._flushed(left))
        await self._tell(self._reports.flush())
        await cancelling.end(*self._tasks)
        # After the last beat, which would put the worker's name back.
        await self._tell(self._redis.zrem(WORKERS_KEY, self.worker))
        for told in (WORKER_INFO_KEY, WORKER_WISHES_KEY):
            await self._tell(self._redis.hdel(told, self.worker))
        await self._kinds.close()
        for connection in (self._redis, self._guard_redis):
            await self._tell(connection.aclose())

    async def _flushed(self, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await self._outbox.flushed()

    @staticmethod
    async def _tell(saying: Awaitable[Any]) -> None:
        """Make a call that Redis may miss: the end of a lease then shows what it would say."""
        try:
            await saying
        except _REDIS_FAULTS as error:
            log.warning("drain.without_redis", extra={"reason": type(error).__name__})
