"""What the child processes of a worker need: environment, standard input, and to end with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

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


def in_memory(data: bytes) -> int:
    """Return a new descriptor from which the data is read; the caller closes it.

    As standard input: nothing is on disk, and nobody has to feed it.
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
