"""Equips a worker's child processes: environment, standard input, and an end with their parent."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def child_environment() -> dict[str, str]:
    """Return the environment with which ``python -m`` finds what this process has imported.

    For children that run our own code; it holds everything that this process knows.
    """
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        # Lines of output belong to the run that wrote them.
        "PYTHONUNBUFFERED": "1",
    }


async def spawn_leader(*program: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a program that leads a session of its own.

    A cancel while it is being started ends it with all that it has started meanwhile.
    """
    making = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*program, start_new_session=True, **options)
    )
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await end_leader(await making)
        raise


async def end_leader(process: asyncio.subprocess.Process) -> None:
    """Kill a process that leads a session, with all that it has started; wait for its end."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def in_memory(data: bytes) -> int:
    """Return a new descriptor from which the data is read; the caller closes it.

    It serves as standard input: nothing is on disk, and no task has to feed a pipe.
    """
    descriptor = os.memfd_create("stdin")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end now if it has ended already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
