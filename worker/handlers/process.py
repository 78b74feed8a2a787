"""One child process that runs handlers for a worker, one at a time; it lives for many runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from worker.children import child_environment, spawn_leader
from worker.handlers.frames import (
    TO_PROCESS_BYTES,
    Answer,
    BrokenFrame,
    Cancel,
    Hello,
    Job,
    Run,
    frame,
    read_frame,
)
from worker.head_tail import HeadTail
from worker.output_pipe import OutputPipe

_END_SECONDS = 2.0
_FRESH_OUTPUT_BYTES = 16 * 1024


class CannotStart(Exception):
    """The process ended, or could not import the handlers, before its first run."""


class HandlerProcess:
    """A started process; :meth:`run` after :meth:`start` has returned it, never two at once."""

    def __init__(self) -> None:
        self.runs = 0
        self.memory_bytes = 0
        self._log = HeadTail(_FRESH_OUTPUT_BYTES)
        self._output = OutputPipe(self._take)
        self._process: asyncio.subprocess.Process | None = None
        self._reader = asyncio.StreamReader()
        self._writer: asyncio.StreamWriter | None = None
        self._killed = False

    @classmethod
    async def start(cls, modules: Sequence[str]) -> HandlerProcess:
        """Return a process that has imported the modules; raise CannotStart when it cannot.

        A cancelled start leaves nothing behind.
        """
        made = cls()
        try:
            await made._spawn()
            made._send({"modules": list(modules)})
            answer = await read_frame(made._reader)
        except (EOFError, OSError) as error:
            made.kill()
            await made.close()
            raise CannotStart(made._last_words()) from error
        except BaseException:
            made.kill()
            await made.close()
            raise
        if answer["verb"] != "ready":
            await made.close()
            raise CannotStart(str(answer.get("message", "")))
        return made

    @property
    def usable(self) -> bool:
        """Whether it lives and can take another run."""
        return self._process is not None and self._process.returncode is None and not self._killed

    async def run(self, job: Job, log: HeadTail, progress: Callable[[Any], None]) -> Answer:
        """Run a job; return the process' answer, or the verb ``died`` when it has ended.

        Its output meanwhile goes to the log.
        """
        self._log = log
        self.runs += 1
        try:
            self._send({"verb": "run", **job})
            while (answer := await read_frame(self._reader))["verb"] == "progress":
                progress(answer["value"])
        except (EOFError, OSError, BrokenFrame, KeyError) as error:
            # KeyError and BrokenFrame: the code of a user has written to our socket.
            self.kill()
            answer = {"verb": "died", "code": await self._wait(), "cause": str(error)}
        self._output.drain()
        self.memory_bytes = int(answer.get("memory_bytes", 0))
        self._log = HeadTail(0)
        return answer

    def ask_to_cancel(self, token: int) -> None:
        """Ask the job of the token to end; nothing happens when it has ended."""
        with contextlib.suppress(OSError, EOFError):
            self._send({"verb": "cancel", "token": token})

    def kill(self) -> None:
        """End the process and what it has started at once."""
        self._killed = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Let an idle process end; kill it when it does not."""
        if self._process is not None:
            if self._writer is not None:
                self._writer.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._process.wait()
            self.kill()
            await self._process.wait()
        self._output.drain()
        self._output.close()

    async def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = await spawn_leader(
                sys.executable,
                "-m",
                "worker.handlers.child",
                str(theirs.fileno()),
                str(os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._output.writable,
                stderr=self._output.writable,
                pass_fds=(theirs.fileno(),),
                # What a run writes is its captured log, which people read.
                env={**child_environment(), "LOG_JSON": "false"},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            self._output.child_has_it()
        self._reader, self._writer = await asyncio.open_connection(sock=ours)

    def _send(self, document: Hello | Run | Cancel) -> None:
        if self._writer is None:
            raise EOFError("the process was never spawned")
        self._writer.write(frame(document, TO_PROCESS_BYTES))

    async def _wait(self) -> int | None:
        return None if self._process is None else await self._process.wait()

    def _take(self, data: bytes) -> None:
        self._log.add(data)

    def _last_words(self) -> str:
        lines = self._log.kept().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "the process ended without output"
