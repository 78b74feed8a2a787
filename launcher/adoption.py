"""Gives a data directory to the account that the product runs as.

Root does this before it becomes that account, and after commands that root runs there. The
directory may belong to the account already, which can then write anything there: nothing here
follows a link, and a file with a second hard link keeps its owner.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from launcher.local_state import RUNTIME_FILE, SECRETS_FILE
from launcher.privileges import Account, PrivilegeError
from launcher.run_lock import LOCK_FILE

#: The servers' directories; the owner of each owns everything in it.
_SERVERS = ("postgres", "valkey", "programs")
_OURS = frozenset(
    {
        SECRETS_FILE,
        f"{SECRETS_FILE}.replaced",
        RUNTIME_FILE,
        LOCK_FILE,
        "receiver.sock",
        "ledgers",
        "mail",
        "logs",
        "sockets",
        "servers",
        *_SERVERS,
        *(f"{name}.{state}" for name in _SERVERS for state in ("new", "replaced", "restored")),
    }
)
#: Older versions kept the servers' directory outside, under a name with this prefix.
_PREFIX = "punctual-"


def adopt(data_dir: Path, account: Account) -> None:
    """Give our files in the directory, then the directory; raise PrivilegeError if not ours."""
    top = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(top).st_uid != account.uid:
            _require_own(data_dir)
            _adopt_outside(data_dir / "servers", account)
        for name in sorted(_OURS.intersection(os.listdir(top))):
            _give(top, name, account, whole=name.split(".")[0] in _SERVERS)
        if os.fstat(top).st_uid != account.uid:
            os.fchown(top, account.uid, account.gid)
            os.fchmod(top, 0o700)
    finally:
        os.close(top)


def give_back(data_dir: Path) -> None:
    """Give the files that root wrote in the directory to the account that owns it."""
    if os.geteuid() != 0:
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        owner = data_dir.stat()
        if owner.st_uid != 0:
            adopt(data_dir, Account(owner.st_uid, owner.st_gid))


def _require_own(data_dir: Path) -> None:
    """Refuse a directory that was never ours and has other directories, such as a system one."""
    with os.scandir(data_dir) as entries:
        found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    if SECRETS_FILE in found:
        return
    others = sorted(name for name, is_directory in found.items() if is_directory)
    # The root of a file system has lost+found.
    others = [name for name in others if name not in (*_OURS, "lost+found")]
    if others:
        raise PrivilegeError(
            f"{data_dir} has to belong to the account that Punctual runs as, and holds other "
            f"things ({others[0]}). Set DATA_DIR to a directory of its own."
        )


def _adopt_outside(link: Path, account: Account) -> None:
    """Give the servers' directory that root of an older version made outside."""
    if not link.is_symlink() or link.lstat().st_uid != 0:
        return
    outside = Path(os.readlink(link))
    if not outside.name.startswith(_PREFIX) or not outside.is_dir():
        return
    top = os.open(outside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(top).st_uid in (0, account.uid):
            for name in sorted(_OURS.intersection(os.listdir(top))):
                _give(top, name, account, whole=name.split(".")[0] in _SERVERS)
            os.fchown(top, account.uid, account.gid)
            os.fchmod(top, 0o700)
    finally:
        os.close(top)


def _give(parent: int, name: str, account: Account, *, whole: bool = False) -> None:
    # A running process may remove a file meanwhile, or replace it by something else.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            _give_file(parent, name, account)
        elif not whole or found.st_uid != account.uid:
            _give_directory(parent, name, account)


def _give_directory(parent: int, name: str, account: Account) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    directory = os.open(name, flags, dir_fd=parent)
    try:
        for entry in os.listdir(directory):
            _give(directory, entry, account)
        # Last, so that the next run repeats an interrupted one.
        os.fchown(directory, account.uid, account.gid)
    finally:
        os.close(directory)


def _give_file(parent: int, name: str, account: Account) -> None:
    file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        found = os.fstat(file)
        if found.st_uid != account.uid and (found.st_nlink == 1 or not stat.S_ISREG(found.st_mode)):
            os.chown(f"/proc/self/fd/{file}", account.uid, account.gid)
    finally:
        os.close(file)
