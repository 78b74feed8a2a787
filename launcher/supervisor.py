"""The supervisor: starts stages of processes in order, watches them, drains them in order.

Used by ``manage.py up`` with the plan of ``launcher.plan``; knows nothing of Punctual's kinds
itself. Promises: a stage starts only when the previous one is ready; a process that ends is
started again; no process that it started is left when ``run`` returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from launcher.spawning import Child, ProcessSpec, Spawner
from launcher.supervised_process import Backoff, SupervisedProcess, pump_lines, stream_of

# During the start only: with the default backoff this is after six seconds.
HOPELESS_RESTARTS = 5
# Make and the terminal may both pass on one Ctrl-C; only a later signal counts as a second one.
SECOND_SIGNAL_AFTER_SECONDS = 0.5

Log = Callable[[str, str], None]
Probe = Callable[[], Awaitable[bool]]


class StartFailure(Exception):
    """A stage did not become ready, or one of its commands failed; ``code`` is the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Service(Protocol):
    """Something that runs on the supervisor's loop as long as its processes do."""

    async def start(self) -> None:
        """Begin; called before the first stage."""

    async def stop(self) -> None:
        """End; called before the processes are drained, also where ``start`` has failed."""


@dataclass(frozen=True)
class Command:
    """A program run to its end; ``captured`` output goes to ``Supervisor.heard``, not the log."""

    spec: ProcessSpec
    captured: bool = False


@dataclass(frozen=True)
class Stage:
    """Processes started together, then commands one after the other, then a readiness probe."""

    name: str
    processes: Sequence[ProcessSpec] = ()
    commands: Sequence[Command] = ()
    ready: Probe | None = None
    timeout_seconds: float = 60.0
    probe_every_seconds: float = 0.1
    failure_code: int = 1


@dataclass(eq=False)
class Supervisor:
    """Runs stages until a stop signal; ``drain_order`` names the kinds that stop together."""

    stages: Sequence[Stage]
    drain_order: Sequence[Sequence[str]]
    log: Log
    changed: Callable[[], None] = lambda: None
    started: Callable[[], None] = lambda: None
    backoff: Backoff = field(default_factory=Backoff)
    spawner: Spawner = field(default_factory=Spawner)
    services: Sequence[Service] = ()
    processes: list[SupervisedProcess] = field(default_factory=list)
    heard: dict[str, str] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _first_signal_at: float | None = None

    async def run(self) -> None:
        """Start everything, wait for a stop signal, drain; raise StartFailure if a stage fails."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.request_stop)
        start = asyncio.create_task(self._start())
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({start, stop}, return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                start.result()
                await stop
        finally:
            for task in (start, stop):
                task.cancel()
            # Ignore the result of a cancelled start; a failure was raised above.
            await asyncio.gather(start, stop, return_exceptions=True)
            for service in self.services:
                await service.stop()
            await self._drain()
            self.spawner.close()

    def request_stop(self) -> None:
        """Begin to drain; when asked again later, kill what still runs."""
        now = time.monotonic()
        if self._first_signal_at is None:
            self._first_signal_at = now
            self.log("supervisor", "stopping; signal again to end everything at once")
            self._stop.set()
        elif now - self._first_signal_at >= SECOND_SIGNAL_AFTER_SECONDS:
            for process in self.processes:
                process.kill()

    async def _start(self) -> None:
        for service in self.services:
            await service.start()
        for stage in self.stages:
            for spec in stage.processes:
                self._watch(spec)
            for command in stage.commands:
                await self._run_command(command, stage.timeout_seconds)
            if stage.ready is not None:
                await self._wait_ready(stage, stage.ready)
        self.started()

    def _watch(self, spec: ProcessSpec) -> None:
        process = SupervisedProcess(spec, self.log, self.changed, self.spawner, self.backoff)
        self.processes.append(process)
        self._tasks.append(asyncio.create_task(process.run(), name=spec.name))

    async def _wait_ready(self, stage: Stage, probe: Probe) -> None:
        deadline = time.monotonic() + stage.timeout_seconds
        while not await probe():
            for process in self.processes:
                if process.restarts >= HOPELESS_RESTARTS:
                    raise StartFailure(f"{process.spec.name} keeps ending")
            if time.monotonic() > deadline:
                waited = f"{stage.timeout_seconds:g} s"
                raise StartFailure(f"{stage.name} is not ready after {waited}", stage.failure_code)
            await asyncio.sleep(stage.probe_every_seconds)

    async def _run_command(self, command: Command, timeout: float) -> None:
        name = command.spec.name
        say = partial(self.log, name)
        output: list[str] = []
        heard, said = os.pipe()
        complained, complains = os.pipe()
        async with stream_of(heard) as words, stream_of(complained) as complaints:
            try:
                child = await self.spawner.spawn(command.spec, said, complains)
            except OSError as error:
                raise StartFailure(f"{name} cannot be started: {error}") from error
            finally:
                os.close(said)
                os.close(complains)
            keep = output.append if command.captured else say
            ending = asyncio.ensure_future(child.wait())
            try:
                async with asyncio.timeout(timeout):
                    await asyncio.gather(pump_lines(words, keep), pump_lines(complaints, say))
                    code = await asyncio.shield(ending)
            except TimeoutError:
                raise StartFailure(f"{name} did not end within {timeout:g} s") from None
            finally:
                _end(child)
                await ending
        self.heard[name] = "\n".join(output)
        if code != 0:
            raise StartFailure(f"{name} failed with code {code}")

    async def _drain(self) -> None:
        named = {kind for group in self.drain_order for kind in group}
        others = {process.spec.kind for process in self.processes} - named
        for kinds in (others, *self.drain_order):
            group = [process for process in self.processes if process.spec.kind in kinds]
            await asyncio.gather(*(process.stop() for process in group))
        await asyncio.gather(*self._tasks)


def _end(child: Child) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
