"""The account that programs run as, which is not the worker's own where the worker may choose.

Only root may become another account, or a worker that root has started and that kept the right.
A worker of another account runs programs as itself; a setting that asks for more than that is
refused, never ignored.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from shared import rights

#: Default of COMMAND_USER for workers that root starts: an id that owns nothing.
DEFAULT = "65532"
_HIGHEST_ID = 2**32 - 2


class NoAccount(Exception):
    """Programs cannot run as the account that is asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user, its group, and the further groups it is in."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def default_name() -> str:
    """Return the default of COMMAND_USER."""
    return DEFAULT if _may_become_another() else ""


def account_of_programs(name: str) -> Account | None:
    """Return the account to become for a program, None to stay what the worker is.

    ``name`` is that of a user, a number, or '' for the worker's own. Raise NoAccount.
    """
    if not name:
        return None
    account = _find(name)
    if account.uid == 0:
        raise NoAccount("COMMAND_USER must name an unprivileged account, not root.")
    own = os.geteuid()
    if own == account.uid:
        return None
    if not _may_become_another():
        raise NoAccount(
            f"Only root may run programs as {name!r}: start the worker as root, "
            "or leave COMMAND_USER out."
        )
    return account


def _may_become_another() -> bool:
    return os.geteuid() == 0 or rights.held() >= rights.OTHER_ACCOUNTS


def _find(name: str) -> Account:
    is_number = name.isascii() and name.isdecimal() and len(name) <= 10
    try:
        found = pwd.getpwuid(int(name)) if is_number else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        # An id needs no entry; it is in the group of its own number alone.
        if is_number and int(name) <= _HIGHEST_ID:
            return Account(int(name), int(name))
        raise NoAccount(f"COMMAND_USER: there is no user {name!r}.") from None
    groups = os.getgrouplist(found.pw_name, found.pw_gid)
    return Account(found.pw_uid, found.pw_gid, tuple(groups))
