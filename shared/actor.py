"""Who makes a change, and from where; services pass it to the audit log.

Every door (view, command, Celery task) makes one; nothing in it is secret.
"""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path

_LOGIN_UID = Path("/proc/self/loginuid")
#: What the kernel shows of a process that began without a login.
_NO_LOGIN = 2**32 - 1
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}")


@dataclass(frozen=True, slots=True)
class Actor:
    """A stable name, and where it came from.

    Names are ``api_key:<prefix>``, ``user:<id>``, ``command:<account>``, ``system``.
    """

    name: str
    address: str = ""
    trace_id: str = ""
    #: The trace that executions made by the call continue, as :mod:`shared.trace_context` keeps it.
    trace: str = ""
    #: The same where the caller named it; None where it began with the call.
    callers_trace: str | None = None

    @property
    def is_command(self) -> bool:
        """Whether a person with a shell on the machine makes the change."""
        return self.name.startswith("command:")


#: The scheduler itself: automatic pauses, housekeeping.
SYSTEM = Actor("system")


def name_of_command() -> str:
    """Return the name of a command's actor: ``command:<account of the operating system>``.

    The account is the one that signed in to the machine, which the kernel keeps through sudo. Where
    there is none, as in a container, it is the account of the process; sudo's user comes with it
    (``command:root for alice``), because anybody may set that variable.
    """
    signed_in = _login_uid()
    account = _name_of(os.getuid() if signed_in is None else signed_in)
    sudo = os.environ.get("SUDO_USER", "")
    if signed_in is None and sudo != account and _ACCOUNT.fullmatch(sudo):
        return f"command:{account} for {sudo}"
    return f"command:{account}"


def _login_uid() -> int | None:
    try:
        found = int(_LOGIN_UID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return None if found == _NO_LOGIN else found


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name[:64]
    except KeyError:
        return str(uid)


#: A person with a shell on the machine.
COMMAND = Actor(name_of_command())
