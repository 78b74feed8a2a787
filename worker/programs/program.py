"""One run of a program: its process group, its output, and a directory that goes with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.children import in_memory
from worker.endings import RESULT_BYTES
from worker.head_tail import HeadTail
from worker.output_pipe import OutputPipe
from worker.programs.account import Account
from worker.programs.launcher import ACCOUNT

_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
#: How long to wait for the output of a process that left the group.
_OUTPUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Invocation:
    """What to run; ``environment`` is all that the program gets, ``stdin`` what it can read.

    Without an ``account`` it runs as the worker's own.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    output_bytes: int
    memory_bytes: int | None
    account: Account | None = None


class CannotRun(Exception):
    """The program could not be started; the message says why."""


class Program:
    """A program that runs once; ``log`` is both its streams together."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self.log = HeadTail(invocation.output_bytes)
        self.stdout = bytearray()
        self._process: asyncio.subprocess.Process | None = None
        self._ending = signal.SIGCONT

    async def run(self) -> int:
        """Run it to its end and return its exit code, minus the signal that ended it.

        Raise CannotRun when it cannot be started. Its group and its directory are gone afterwards.
        """
        directory = tempfile.mkdtemp(prefix="punctual-command-")
        out, err = OutputPipe(self._take_stdout), OutputPipe(self.log.add)
        try:
            self._hand_over(directory, out.writable, err.writable)
            process = await self._spawn(directory, out, err)
            code = await process.wait()
            # Processes that it left behind would run on without limits.
            self._signal(signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_OUTPUT_SECONDS):
                    await asyncio.gather(out.ended.wait(), err.ended.wait())
            return code
        finally:
            out.close()
            err.close()
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    def ask(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its group at once."""
        self._signal(signal.SIGKILL)

    async def _spawn(
        self, directory: str, out: OutputPipe, err: OutputPipe
    ) -> asyncio.subprocess.Process:
        stdin = in_memory(self._invocation.stdin)
        said = bytearray()
        status = OutputPipe(said.extend)
        try:
            self._hand_over(stdin)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                _LAUNCHER,
                str(status.writable),
                str(self._invocation.memory_bytes or 0),
                str(os.getpid()),
                *_account_argument(self._invocation.account),
                *self._invocation.argv,
                stdin=stdin,
                stdout=out.writable,
                stderr=err.writable,
                pass_fds=(status.writable,),
                start_new_session=True,
                cwd=directory,
                env=dict(self._invocation.environment),
            )
            self._process = process
            if self._ending is not signal.SIGCONT:
                # Asked to end while it was being spawned, when there was nothing to signal.
                self._signal(self._ending)
        finally:
            os.close(stdin)
            for pipe in (status, out, err):
                pipe.child_has_it()
        # Closed by the program's start, or by the end of a launcher that could not.
        await status.ended.wait()
        if said:
            await process.wait()
            raise CannotRun(said.decode("utf-8", "replace"))
        return process

    def _hand_over(self, *things: str | int) -> None:
        """Give directories and descriptors to the account, which may open ``/dev/stdout`` anew."""
        account = self._invocation.account
        if account is not None:
            for thing in things:
                os.chown(thing, account.uid, account.gid)

    def _take_stdout(self, data: bytes) -> None:
        self.log.add(data)
        # One byte more than is kept shows that there was more.
        self.stdout += data[: max(0, RESULT_BYTES + 1 - len(self.stdout))]

    def _signal(self, number: signal.Signals) -> None:
        self._ending = number
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _account_argument(account: Account | None) -> list[str]:
    if account is None:
        return []
    groups = ",".join(str(group) for group in account.groups)
    return [f"{ACCOUNT}{account.uid}:{account.gid}:{groups}"]
