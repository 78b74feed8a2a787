"""The account that everything runs as where root starts it, and its private files.

PostgreSQL refuses to run as root, and no part of the product needs to. When an ordinary user starts
Punctual, it runs as that user and changes no users or owners.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher import system_account

ACCOUNT_VARIABLE = "PUNCTUAL_USER"
DEFAULT_ACCOUNT = "punctual"
#: Ran the servers of older versions; other programs use this account, too.
_SHARED_ACCOUNT, _SHARED_ID = "nobody", 65534


class PrivilegeError(Exception):
    """Punctual cannot run as an unprivileged user after root has started it."""


@dataclass(frozen=True)
class Account:
    """A user, its group, and the further groups it is in."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    name: str = ""

    def spawn_options(self) -> dict[str, Any]:
        """Return the options of ``subprocess`` that make a child run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def account_of(data_dir: Path) -> Account | None:
    """Return the account for everything in the data directory; None for an ordinary user.

    PUNCTUAL_USER names the account. Without it, the account is the directory's owner, unless that
    is root or an account that other programs use too. Otherwise it is ``punctual``, made if need
    be. Raise PrivilegeError where that fails.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get(ACCOUNT_VARIABLE)
    if name:
        return _named(name)
    if data_dir.is_dir():
        found = data_dir.stat()
        if found.st_uid not in (0, _shared_id()):
            return _of_owner(found)
    try:
        return _account(system_account.ensure(DEFAULT_ACCOUNT))
    except system_account.CannotMake as error:
        raise PrivilegeError(
            f"When root starts it, Punctual runs as the user {DEFAULT_ACCOUNT!r}, which does not "
            f"exist and cannot be made: {error}. Make it (useradd --system {DEFAULT_ACCOUNT}), or "
            f"set {ACCOUNT_VARIABLE} to an unprivileged user."
        ) from error


def _named(name: str) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise PrivilegeError(
            f"{ACCOUNT_VARIABLE} names the user {name!r}, which does not exist. "
            "Set it to an unprivileged user."
        ) from None
    if entry.pw_uid == 0:
        raise PrivilegeError(f"{ACCOUNT_VARIABLE} must name a user that is not root.")
    return _account(entry)


def _of_owner(found: os.stat_result) -> Account:
    try:
        return _account(pwd.getpwuid(found.st_uid))
    except KeyError:
        # A volume may belong to an id that only another system has a name for.
        return Account(found.st_uid, found.st_gid, (), str(found.st_uid))


def _account(entry: pwd.struct_passwd) -> Account:
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_uid, entry.pw_gid, groups, entry.pw_name)


def _shared_id() -> int:
    try:
        return pwd.getpwnam(_SHARED_ACCOUNT).pw_uid
    except KeyError:
        return _SHARED_ID


def private_directory(directory: Path, account: Account | None) -> Path:
    """Make a directory of mode 0700 that belongs to the account; refuse one of another user.

    Another user may have put a directory into a shared place. Refuse a symbolic link or a foreign
    owner, never repair it.
    """
    made = False
    try:
        directory.mkdir(mode=0o700)
        made = True
    except FileExistsError:
        pass
    if made and account is not None:
        os.chown(directory, account.uid, account.gid)
    found = directory.lstat()
    owner = account.uid if account is not None else os.geteuid()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
        raise PrivilegeError(f"{directory} exists but does not belong to user id {owner}.")
    if stat.S_IMODE(found.st_mode) != 0o700:
        directory.chmod(0o700)
    return directory


def write_file(path: Path, text: str, account: Account | None) -> None:
    """Write a file of mode 0600 that belongs to the account, in its own private directory."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        if account is not None:
            os.fchown(handle.fileno(), account.uid, account.gid)
        handle.write(text)
