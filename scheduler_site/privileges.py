"""The unprivileged account that the embedded servers run under when everything is started as root.

PostgreSQL refuses to run as root, and neither server needs to. An ordinary user's servers run
as that user, and nothing is changed of users or owners. Called by the embedded servers and by
whoever spawns them.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT_VARIABLE = "PUNCTUAL_USER"
DEFAULT_ACCOUNT = "nobody"


class PrivilegeError(Exception):
    """The servers cannot be run as an unprivileged user."""


@dataclass(frozen=True)
class Account:
    """A user and group that a server runs as."""

    uid: int
    gid: int

    def spawn_options(self) -> dict[str, Any]:
        """Return the options of ``subprocess`` that make a child run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_account(existing: Path) -> Account | None:
    """Return the account for servers whose data is in ``existing``; none for an ordinary user.

    Data that exists keeps its owner, so that a changed PUNCTUAL_USER or a first start as an
    ordinary user never leaves files that the server may not read.
    """
    if os.geteuid() != 0:
        return None
    if existing.is_dir() and (found := existing.stat()).st_uid != 0:
        return Account(found.st_uid, found.st_gid)
    name = os.environ.get(ACCOUNT_VARIABLE) or DEFAULT_ACCOUNT
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise PrivilegeError(
            f"As root, the embedded servers run as the user {name!r}, which does not exist. "
            f"Set {ACCOUNT_VARIABLE} to an unprivileged user."
        ) from None
    if entry.pw_uid == 0:
        raise PrivilegeError(f"{ACCOUNT_VARIABLE} must name a user that is not root.")
    return Account(entry.pw_uid, entry.pw_gid)


def can_enter(directory: Path, account: Account | None) -> bool:
    """Say whether the account may pass through the directory and all those above it."""
    if account is None:
        return True
    resolved = directory.resolve()
    return all(_may_search(step, account) for step in (resolved, *resolved.parents))


def _may_search(directory: Path, account: Account) -> bool:
    found = directory.stat()
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def let_pass(directory: Path, account: Account | None) -> None:
    """Let the account's group pass through our own directory, without listing it."""
    if account is None or _may_search(directory, account):
        return
    os.chown(directory, -1, account.gid)
    directory.chmod((stat.S_IMODE(directory.stat().st_mode) & ~0o070) | 0o010)


def private_directory(directory: Path, account: Account | None) -> Path:
    """Make a directory of mode 0700 that belongs to the account; refuse one of somebody else.

    A directory in a shared place may have been put there by another user: a symbolic link or a
    foreign owner is refused, never repaired.
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
