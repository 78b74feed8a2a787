"""Refuses to start where commands would run as an account that owns our files or servers.

``up`` and workers call this: a program that runs as the owner of the data directory, or as the
account of the embedded servers, could read keys and databases, or end the servers.
"""

from __future__ import annotations

from pathlib import Path

from launcher.privileges import Account, PrivilegeError
from shared.conf import conf
from worker.programs.account import NoAccount, account_of_programs


def require_account(data_dir: Path, servers: Account | None = None) -> None:
    """Raise PrivilegeError unless programs can run as an account that owns nothing of ours.

    A deployment without commands passes, and so does a worker that does not change its account.
    """
    knobs = conf()
    if not knobs.allowed_commands:
        return
    try:
        account = account_of_programs(knobs.command_user)
    except NoAccount as error:
        raise PrivilegeError(str(error)) from error
    if account is None:
        return
    owners = {data_dir: data_dir.stat().st_uid} if data_dir.is_dir() else {}
    for what, uid in [*owners.items(), ("the embedded servers", servers and servers.uid)]:
        if uid == account.uid:
            raise PrivilegeError(
                f"COMMAND_USER is the account of {what} (user id {uid}). Programs must not run as "
                "that account. Set COMMAND_USER to a user of its own, or leave it out."
            )
