"""Becomes the program of a command: run by path, with ``python -I -S``, standard library only.

Arguments: descriptor of the status pipe, bytes of memory or 0, pid of the worker, where it runs as
another account ``--account=UID:GID:GROUP,...``, the program, and its arguments. Account and limits
are set in the process that becomes the program, so there is no moment at which it runs without
them. An error that keeps the program from starting is written to the status pipe, which closes by
itself when the program starts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence

#: Begins the argument that names an account.
ACCOUNT = "--account="
_PR_SET_PDEATHSIG = 1
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x20080522


def main(arguments: Sequence[str]) -> int:
    """Set the limits and become the program; return only when that is impossible."""
    status, memory, worker = (int(word) for word in arguments[:3])
    program = list(arguments[3:])
    os.set_inheritable(status, False)
    try:
        if program[0].startswith(ACCOUNT):
            _become(program.pop(0).removeprefix(ACCOUNT))
        # After the change of account, which would clear it.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != worker:
            return 1
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        os.execve(program[0], program, dict(os.environ))  # noqa: S606 - no shell is the point
    except (OSError, ValueError) as error:
        os.write(status, str(error).encode()[:500])
    return 127


def _become(account: str) -> None:
    """Become the account for good: the last of these steps gives up the right to all."""
    uid, gid, groups = account.split(":")
    os.setgroups([int(group) for group in groups.split(",") if group])
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
    _give_up_rights()


def _give_up_rights() -> None:
    """Give up the capabilities of a worker that is not root: no change of account takes them."""
    libc = ctypes.CDLL(None, use_errno=True)
    # Programs inherit ambient ones; the kernel clears them with the others, but we ask for it
    # anyway. Version 3 of the call, for this process: nothing effective, permitted or
    # inheritable, in each of its two parts.
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "The rights of the worker cannot be given up")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
