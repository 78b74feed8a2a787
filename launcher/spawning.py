"""How the supervisor gets a process: a program is executed, a command of ours is forked.

Called by the supervisor alone. Either way the process leads a process group of its own, so that a
Ctrl-C at the terminal reaches only the supervisor, and it dies with the supervisor even when that
is killed.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import orjson

from launcher import kept_rights
from launcher.fork_server import HEADER
from launcher.privileges import Account
from shared import rights

PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec only the call itself may happen.
_LIBC = ctypes.CDLL(None, use_errno=True)
_BASE_DIR = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class ProcessSpec:
    """What to run, as whom, and how it is stopped; ``name`` is its prefix in the log.

    A ``forked`` process is a Python script: ``argv`` is the interpreter, its path and its
    arguments. It runs as the supervisor's account, and its death signal is SIGKILL.
    """

    kind: str
    name: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    # Sent by the kernel when the supervisor is killed: servers shut down in order, the rest
    # ends at once, as in any crash it is built for.
    death_signal: signal.Signals = signal.SIGKILL
    grace_seconds: float = 10.0
    # How far it yields where processors are short: 0 like the supervisor itself, at most 19.
    niceness: int = 0
    forked: bool = False


class Child(Protocol):
    """A process that was spawned."""

    @property
    def pid(self) -> int:
        """Return its process id, which is that of its group, too."""

    async def wait(self) -> int:
        """Return its exit code once it has ended; the number of a signal is negative."""


@dataclass
class Spawner:
    """Spawns processes for one supervisor; ``environment`` is that of the fork server.

    ``log(name, line)`` gets what the server itself writes; without it that goes to stderr.

    The server starts with the first forked process. When it has died, and all its forked processes
    with it, the next fork starts it again.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    log: Callable[[str, str], None] | None = None
    _server: subprocess.Popen[bytes] | None = None
    _control: socket.socket | None = None

    def start(self) -> None:
        """Start to load the fork server, so that the first fork does not have to wait for it."""
        self._ready()

    async def spawn(self, spec: ProcessSpec, output: int, errors: int) -> Child:
        """Start the process, its output going to the descriptors; raise OSError if it cannot."""
        if spec.forked:
            return await self._fork(spec, output, errors)
        return await asyncio.create_subprocess_exec(
            *spec.argv, stdout=output, stderr=errors, **spawn_options(spec)
        )

    def close(self) -> None:
        """End the fork server, and with it every forked process that still runs."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    async def _fork(self, spec: ProcessSpec, output: int, errors: int) -> Child:
        control = self._ready()
        readable, report = os.pipe()
        try:
            body = orjson.dumps(
                {
                    "name": spec.name,
                    "argv": spec.argv,
                    "environment": spec.environment,
                    "directory": os.getcwd(),
                    "niceness": spec.niceness,
                }
            )
            socket.send_fds(control, [HEADER.pack(len(body))], [output, errors, report])
            control.sendall(body)
        except OSError:
            os.close(readable)
            raise
        finally:
            os.close(report)
        return await _Forked.begun(readable)

    def _ready(self) -> socket.socket:
        if self._control is not None and self._server is not None and self._server.poll() is None:
            return self._control
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "launcher.fork_server", str(theirs.fileno())],
                cwd=_BASE_DIR,
                env={**self.environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE if self.log else None,
                pass_fds=[theirs.fileno()],
                process_group=0,
                preexec_fn=_dying_with_us(signal.SIGKILL),
            )
        self._control = ours
        if self.log is not None and self._server.stderr is not None:
            args = (self._server.stderr, self.log)
            threading.Thread(target=_pass_on, args=args, name="fork-server", daemon=True).start()
        return ours


def _pass_on(lines: IO[bytes], log: Callable[[str, str], None]) -> None:
    with lines:
        for line in lines:
            log("fork-server", line.decode(errors="replace").rstrip())


class _Forked:
    """A child of the fork server, which reports its pid and its exit code."""

    def __init__(self, pid: int, report: asyncio.StreamReader, transport: asyncio.BaseTransport):
        self.pid = pid
        self._report = report
        self._transport = transport

    @classmethod
    async def begun(cls, readable: int) -> _Forked:
        """Wait until it runs; raise ChildProcessError if the server has died or cannot fork."""
        report = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(report), os.fdopen(readable, "rb")
        )
        said = b""
        try:
            said = await report.readline()
        finally:
            if not said:
                transport.close()
        if not said:
            raise ChildProcessError("the fork server has ended, or cannot fork")
        return cls(int(said), report, transport)

    async def wait(self) -> int:
        """Return its exit code; that of SIGKILL if the server has died, which kills it, too."""
        try:
            said = await self._report.readline()
        finally:
            self._transport.close()
        return int(said) if said else -signal.SIGKILL


def spawn_options(spec: ProcessSpec) -> dict[str, Any]:
    """Return the ``subprocess`` options that every program of ours is executed with."""
    return {
        "env": spec.environment,
        "stdin": asyncio.subprocess.DEVNULL,
        "process_group": 0,
        "preexec_fn": _dying_with_us(
            spec.death_signal, spec.niceness, without_rights=kept_rights.MARK in os.environ
        ),
        **(spec.account.spawn_options() if spec.account is not None else {}),
    }


def _dying_with_us(
    death_signal: signal.Signals, niceness: int = 0, *, without_rights: bool = False
) -> Any:
    supervisor = os.getpid()

    def prepare() -> None:
        # Runs after the change of user, which would clear it.
        _LIBC.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != supervisor:
            # The supervisor died before the line above took effect.
            os._exit(1)
        os.nice(niceness)
        if without_rights:
            rights.keep_only(())

    return prepare
