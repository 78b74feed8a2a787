"""Lets the product's account reach its program files where directories above are closed to it.

A checkout below ``/root`` or in a directory of root's own is closed to every other account. Root
may let one account pass: an access control list gives it the right to search a directory, not to
list it, and changes nothing for others. Without such lists the account's group becomes the group of
the directory, unless the present group has rights there.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from launcher.privileges import Account, PrivilegeError

_ACL = "system.posix_acl_access"
_VERSION = struct.Struct("<I")
_ENTRY = struct.Struct("<HHI")
_OWNER, _USER, _GROUP, _NAMED_GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_SEARCH, _NO_ID = 1, 0xFFFFFFFF

Entries = list[tuple[int, int, int]]


def can_enter(directory: Path, account: Account | None) -> bool:
    """Return whether the account may pass through the directory and all directories above it."""
    return account is None or _may(account, directory, os.X_OK)


def can_read(path: Path, account: Account) -> bool:
    """Return whether the account may read the file."""
    return _may(account, path, os.R_OK)


def can_write(directory: Path, account: Account) -> bool:
    """Return whether the account may make files in the directory."""
    return _may(account, directory, os.W_OK | os.X_OK)


def open_way(path: Path, account: Account, mode: int = os.R_OK) -> None:
    """Let the account reach the path and use it in this mode; raise PrivilegeError if it cannot.

    Directories of root on the way get an entry for the account; standard error names each of them.
    """
    if _may(account, path, mode):
        return
    for directory in (*_way(path), *([path] if mode == os.X_OK else ())):
        if not _may(account, directory, os.X_OK):
            _let_search(directory, account)
    if not _may(account, path, mode):
        raise PrivilegeError(
            f"The account {account.name}, which Punctual runs as when root starts it, may not "
            f"read {path}. Let other users read it (chmod -R go+rX), or set PUNCTUAL_USER."
        )


def _way(path: Path) -> Iterator[Path]:
    """Yield the directories above, as the path names them and as its links lead."""
    for named in dict.fromkeys((path.absolute(), path.resolve())):
        yield from reversed(named.parents)


def _may(account: Account, path: Path, mode: int) -> bool:
    """Return whether the kernel lets the account use the path in this mode.

    The kernel takes access control lists and links into account.
    """
    return _as_account(account, lambda: os.access(path, mode))


def _as_account(account: Account, asked: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.setgroups(account.groups)
            os.setresgid(account.gid, account.gid, account.gid)
            os.setresuid(account.uid, account.uid, account.uid)
            code = 0 if asked() else 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, 1):
        raise PrivilegeError(f"Root has no right here to become the account {account.name}.")
    return code == 0


def _let_search(directory: Path, account: Account) -> None:
    closed = (
        f"The account {account.name}, which Punctual runs as when root starts it, may not pass "
        f"through {directory}"
    )
    found = directory.stat()
    if found.st_uid != 0:
        raise PrivilegeError(
            f"{closed}, which belongs to user id {found.st_uid}. Set PUNCTUAL_USER to that user, "
            f"let the account pass (setfacl -m u:{account.uid}:x {directory}), or move Punctual "
            "to where every user may go, such as /opt."
        )
    try:
        os.setxattr(directory, _ACL, _with_search(_entries(directory, found), account))
    except OSError as error:
        if stat.S_IMODE(found.st_mode) & 0o070:
            raise PrivilegeError(
                f"{closed} ({error.strerror}). Let it pass (chmod o+x {directory}), move Punctual "
                "to where every user may go, such as /opt, or set PUNCTUAL_USER."
            ) from error
        # The file system has no such lists, and the group has no right that it could lose.
        os.chown(directory, -1, account.gid)
        directory.chmod(stat.S_IMODE(found.st_mode) | stat.S_IXGRP)
    sys.stderr.write(
        f"The account {account.name} may pass through {directory} from now on, not list it.\n"
    )


def _entries(directory: Path, found: os.stat_result) -> Entries:
    try:
        raw = os.getxattr(directory, _ACL)
    except OSError:
        mode = stat.S_IMODE(found.st_mode)
        return [
            (_OWNER, mode >> 6 & 7, _NO_ID),
            (_GROUP, mode >> 3 & 7, _NO_ID),
            (_OTHER, mode & 7, _NO_ID),
        ]
    return list(_ENTRY.iter_unpack(raw[_VERSION.size :]))


def _with_search(entries: Entries, account: Account) -> bytes:
    """Return the list with the account's right to search, and a mask that makes it effective."""
    kept = [one for one in entries if one[0] != _MASK and one[::2] != (_USER, account.uid)]
    former = next((one[1] for one in entries if one[::2] == (_USER, account.uid)), 0)
    kept.append((_USER, former | _SEARCH, account.uid))
    mask = next((one[1] for one in entries if one[0] == _MASK), None)
    if mask is None:
        mask = next(one[1] for one in entries if one[0] == _GROUP)
    kept.append((_MASK, mask | _SEARCH, _NO_ID))
    kept.sort(key=lambda one: (one[0], one[2]))
    return _VERSION.pack(2) + b"".join(_ENTRY.pack(*one) for one in kept)
