"""One supervised process: spawned, its output drained, restarted with backoff, stopped.

Used by the supervisor, which gives it its spawner.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from launcher.autogroups import hold_back
from launcher.spawning import Child, ProcessSpec, Spawner

# Longer lines are passed on in pieces, so that no child can fill the supervisor's memory.
MAX_LINE_BYTES = 16 * 1024


@dataclass(frozen=True)
class Backoff:
    """Delays before restarts: doubled from first to longest, forgotten after a long life."""

    first_seconds: float = 0.2
    longest_seconds: float = 10.0
    forgotten_after_seconds: float = 30.0

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after the n-th failure in a row, n from 1."""
        # 2**30 is far beyond any longest delay and still a small number.
        return min(self.longest_seconds, self.first_seconds * 2.0 ** min(failures - 1, 30))


@dataclass(eq=False)
class SupervisedProcess:
    """Keeps one process alive until ``stop`` or ``kill``."""

    spec: ProcessSpec
    log: Callable[[str, str], None]
    changed: Callable[[], None]
    spawner: Spawner
    backoff: Backoff = field(default_factory=Backoff)
    pid: int | None = None
    restarts: int = 0
    started_at: float = 0.0
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Spawn the process again whenever it ends, until ``stop`` or ``kill``."""
        failures = 0
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                ending = await self._live_once()
                if self._stopping.is_set():
                    return
                lived = time.monotonic() - began
                failures = 1 if lived >= self.backoff.forgotten_after_seconds else failures + 1
                delay = self.backoff.delay(failures)
                self.log(self.spec.name, f"{ending}; starting again in {delay:.1f} s")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._stopping.wait()
                if not self._stopping.is_set():
                    self.restarts += 1
        finally:
            # Kills nothing, unless the lines above failed and left a process without a watch.
            self.kill()
            self._ended.set()

    async def _live_once(self) -> str:
        # A pipe of our own: asyncio's would let a grandchild that keeps it open hide the exit.
        readable, writable = os.pipe()
        try:
            child = await self.spawner.spawn(self.spec, writable, writable)
        except OSError as error:
            os.close(readable)
            return f"cannot be started: {error}"
        finally:
            os.close(writable)
        self.pid, self.started_at = child.pid, time.time()
        self.changed()
        if self._stopping.is_set():
            # ``stop`` was called during the spawn, when there was no pid to signal.
            self._signal(self.spec.stop_signal)
        code = await self._drain_until_exit(child, readable)
        self.pid = None
        self.changed()
        return _ending(code)

    async def _drain_until_exit(self, child: Child, readable: int) -> int:
        async with stream_of(readable) as stream:
            pump = asyncio.create_task(pump_lines(stream, self._say))
            holding = asyncio.create_task(self._hold_back(child))
            try:
                return await child.wait()
            finally:
                holding.cancel()
                # Children left in its group have no parent any more and would hold ports and locks.
                self._signal(signal.SIGKILL)
                # A child that left the group may keep the pipe open; we do not wait for its output.
                await asyncio.wait({pump}, timeout=1.0)
                pump.cancel()

    async def _hold_back(self, child: Child) -> None:
        if self.spec.niceness:
            await hold_back(child.pid, self.spec.niceness)

    def _say(self, line: str) -> None:
        self.log(self.spec.name, line)

    async def stop(self) -> None:
        """Ask the process to end, wait for its grace, then kill its whole group."""
        self._stopping.set()
        self._signal(self.spec.stop_signal, group=False)
        try:
            async with asyncio.timeout(self.spec.grace_seconds):
                await self._ended.wait()
        except TimeoutError:
            self.log(self.spec.name, f"still runs after {self.spec.grace_seconds:g} s; killed")
            self.kill()
            await self._ended.wait()

    def crash(self) -> None:
        """End the process and its group at once, as a crash does: it is started again."""
        self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """End the process and its group at once."""
        self._stopping.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals, *, group: bool = True) -> None:
        if self.pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)


@contextlib.asynccontextmanager
async def stream_of(readable: int) -> AsyncIterator[asyncio.StreamReader]:
    """Yield a stream that reads the pipe; close the pipe at the end."""
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(readable, "rb")
    )
    try:
        yield stream
    finally:
        transport.close()


async def pump_lines(stream: asyncio.StreamReader, say: Callable[[str], None]) -> None:
    """Read the pipe of a child to its end and pass on every line; never stop reading."""
    rest = b""
    while chunk := await stream.read(MAX_LINE_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line.decode(errors="replace").rstrip("\r"))
        if len(rest) >= MAX_LINE_BYTES:
            say(rest.decode(errors="replace"))
            rest = b""
    if rest:
        say(rest.decode(errors="replace"))


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"
