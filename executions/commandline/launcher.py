"""Becomes the program of a command: run by path, with ``python -I -S``, standard library only.

Arguments: descriptor of the status pipe, bytes of memory or 0, pid of the worker, program, and
the program's arguments. The limits are set in the process that becomes the program, so there is
no moment at which it runs without them. What keeps it from starting is written to the status pipe,
which closes by itself when the program starts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    """Set the limits and become the program; return only when that is impossible."""
    status, memory, worker = (int(word) for word in arguments[:3])
    program = list(arguments[3:])
    os.set_inheritable(status, False)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != worker:
        return 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.execve(program[0], program, dict(os.environ))  # noqa: S606 - no shell is the point
    except (OSError, ValueError) as error:
        os.write(status, str(error).encode()[:500])
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
