"""Runs handlers for a worker: keeps child processes, gives each one run at a time.

Lives on the worker's event loop; knows no database. A process that dies takes exactly its own run
with it. Processes start on demand, and are replaced after many runs or when their memory has
grown.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from shared.conf import conf
from shared.encryption import DecryptionFailed
from shared.fair_slots import FairSlots
from shared.instants import format_instant
from wire.messages import Entry
from wire.outcomes import ProgressRow
from wire.poison import ALONE_AFTER
from worker.endings import LOG_BYTES, Ending, Kind, interrupted
from worker.entries import caller_of
from worker.handlers.frames import Answer, Job
from worker.handlers.process import CannotStart, HandlerProcess
from worker.handlers.reporting import ProgressReport
from worker.head_tail import HeadTail
from worker.interruption import Limits, Stopping, Why, first_of, run_to_end
from worker.opened import open_entry

#: Importing a deployment's modules may take a while; it is no part of the run's time.
_START_SECONDS = 30.0


class HandlerHost:
    """The handlers' processes of one worker; ``say`` puts a row into the outcome stream."""

    def __init__(self, say: Callable[[ProgressRow], None], stopping: Stopping) -> None:
        self._say = say
        self._stopping = stopping
        self._idle: list[HandlerProcess] = []
        self._slots = FairSlots(conf().handler_slots)

    async def run(self, entry: Entry) -> Ending:
        """Run one attempt of a handler; a cancel ends it within its grace."""
        if not conf().handler_modules:
            message = "HANDLER_MODULES is not set for this worker, so it runs no handlers."
            return Ending(Kind.REFUSED, "handler_error", message)
        try:
            job = _job(entry)
        except DecryptionFailed as error:
            return Ending(Kind.FAILED, "internal", error.message)
        async with self._slots.slot(caller_of(entry)):
            if self._stopping.said:
                return interrupted(Why.STOPPING, 0.0, HeadTail(0))
            return await self._in_process(entry, job)

    async def close(self) -> None:
        """End the processes, which are idle by now."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(process.close() for process in idle))

    async def _in_process(self, entry: Entry, job: Job) -> Ending:
        alone = entry.get("lost", 0) >= ALONE_AFTER
        starting = asyncio.ensure_future(self._process(alone))
        why = await first_of(starting, _START_SECONDS, self._stopping)
        if why is not None:
            starting.cancel()
            await asyncio.wait({starting})
        if starting.cancelled() or (error := starting.exception()) is not None:
            return _not_started(why, None if starting.cancelled() else error)
        process = starting.result()
        try:
            if why is not None:
                return _not_started(why, None)
            return await self._run(process, entry, job)
        finally:
            await self._give_back(process, alone)

    async def _process(self, alone: bool) -> HandlerProcess:
        while self._idle and not alone:
            process = self._idle.pop()
            if process.usable:
                return process
            await process.close()
        return await HandlerProcess.start(conf().handler_modules)

    async def _give_back(self, process: HandlerProcess, alone: bool) -> None:
        worn = (
            process.runs >= conf().handler_process_runs
            or process.memory_bytes > conf().handler_process_bytes
        )
        if process.usable and not (worn or alone):
            self._idle.append(process)
        else:
            await process.close()

    async def _run(self, process: HandlerProcess, entry: Entry, job: Job) -> Ending:
        target = entry["target"]
        log, report = HeadTail(LOG_BYTES), ProgressReport(entry, self._say)
        running = asyncio.ensure_future(process.run(job, log, report.put))
        limits = Limits(target["timeout_seconds"], target["cancel_grace_seconds"])
        why = await run_to_end(
            running,
            limits,
            self._stopping,
            ask=lambda: process.ask_to_cancel(entry["token"]),
            kill=process.kill,
        )
        # Sent before the outcome: the next attempt continues from it.
        report.flush()
        if why is not None:
            return interrupted(why, limits.seconds, log)
        return _ending(entry, running.result(), log)


def _job(entry: Entry) -> Job:
    opened = open_entry(entry)
    return {
        "token": entry["token"],
        "handler": entry["target"]["handler"],
        "execution_id": entry["id"],
        "task_id": entry["task"],
        "attempt": entry["attempt"],
        "scheduled_for": format_instant(datetime.fromtimestamp(entry["scheduled_for"], UTC)),
        "payload": opened.payload,
        "last_progress": opened.last_progress,
    }


def _not_started(why: Why | None, error: BaseException | None) -> Ending:
    if why in (Why.CANCELLED, Why.STOPPING):
        return interrupted(why, 0.0, HeadTail(0))
    if why is Why.TIME_IS_UP:
        message = f"The handlers' process had not started after {_START_SECONDS:g} s."
    elif isinstance(error, CannotStart):
        message = f"The modules of HANDLER_MODULES cannot be imported: {error}"
    else:
        message = f"The handlers' process cannot be started: {error}"
    return Ending(Kind.FAILED, "handler_error", message)


def _ending(entry: Entry, answer: Answer, log: HeadTail) -> Ending:
    verb = answer["verb"]
    if verb == "returned":
        return Ending(Kind.SUCCEEDED, result=orjson.dumps(answer["result"]), log=log)
    if verb == "raised":
        kind = Kind.REFUSED if answer["permanent"] else Kind.FAILED
        return Ending(kind, "handler_error", str(answer["message"]), log=log)
    if verb == "unknown":
        modules = ", ".join(conf().handler_modules)
        name = entry["target"]["handler"]
        message = f"No module of HANDLER_MODULES ({modules}) has a handler {name!r}."
        return Ending(Kind.REFUSED, "handler_error", message, log=log)
    message = f"The handler's process {_death(answer.get('code'))}."
    return Ending(Kind.LOST, "worker_lost", message, log=log)


def _death(code: Any) -> str:
    if not isinstance(code, int):
        return "has gone"
    if code >= 0:
        return f"ended with code {code} before the handler had ended"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"was ended by {name}"
