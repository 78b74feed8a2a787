"""Capabilities of Linux that a process keeps after it has left root, each for one purpose.

Kept capabilities pass to every program that the process starts, so a process that starts others
gives up the capabilities that they must not have. Called before a process starts threads: each
thread has its own.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection
from enum import IntEnum
from pathlib import Path

_PR_GET_PDEATHSIG, _PR_SET_PDEATHSIG = 2, 1
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_RAISE, _CLEAR_ALL = 2, 4
_VERSION = 0x20080522
_LIBC = ctypes.CDLL(None, use_errno=True)


class Right(IntEnum):
    """Numbers of ``linux/capability.h``."""

    CHOWN = 0
    DAC_OVERRIDE = 1
    FOWNER = 3
    KILL = 5
    SETGID = 6
    SETUID = 7
    NET_BIND_SERVICE = 10


#: The rights needed to run a program as another account: give it its files, become it, end it, and
#: remove its leftovers.
OTHER_ACCOUNTS = frozenset(
    {
        Right.CHOWN,
        Right.DAC_OVERRIDE,
        Right.FOWNER,
        Right.KILL,
        Right.SETGID,
        Right.SETUID,
    }
)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def held() -> frozenset[Right]:
    """Return which of the rights this thread has now."""
    for line in Path("/proc/thread-self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            mask = int(line.split()[1], 16)
            return frozenset(right for right in Right if mask >> right & 1)
    return frozenset()


def keep_only(rights: Collection[Right]) -> None:
    """Give up every right but these, for this process and the programs it starts."""
    mask = sum(1 << right for right in rights)
    _call("prctl", _PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    header = _Header(_VERSION, 0)
    data = (_Data * 2)(_Data(mask, mask, mask), _Data(0, 0, 0))
    _call("capset", ctypes.byref(header), data)
    for right in rights:
        _call("prctl", _PR_CAP_AMBIENT, _RAISE, int(right), 0, 0)


def leave_root(uid: int, gid: int, groups: Collection[int], rights: Collection[Right]) -> None:
    """Become the account for good, with these rights; OSError where root may not do that here.

    The signal that this process gets when its parent dies would be lost with the account.
    """
    parent, asked_for = os.getppid(), ctypes.c_int()
    _call("prctl", _PR_GET_PDEATHSIG, ctypes.byref(asked_for), 0, 0, 0)
    os.setgroups(list(groups))
    os.setresgid(gid, gid, gid)
    _call("prctl", _PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresuid(uid, uid, uid)
    keep_only(rights)
    if asked_for.value:
        _call("prctl", _PR_SET_PDEATHSIG, asked_for.value, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
