"""Makes the system account that the product runs as where root starts it.

Other programs could read the data directory if it belonged to a shared account. An account of our
own owns it alone.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence

_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_SECONDS = 60.0
_HOME, _SHELLS = "/nonexistent", ("/usr/sbin/nologin", "/sbin/nologin", "/bin/false")


class CannotMake(Exception):
    """The account cannot be made; the message says why."""


def ensure(name: str) -> pwd.struct_passwd:
    """Return the account of the name, made if there is none; raise CannotMake."""
    # Two simultaneous starts make it only once.
    lock = os.open("/etc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _found(name) or _made(name)
    finally:
        os.close(lock)


def _found(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _made(name: str) -> pwd.struct_passwd:
    for command in _commands(name):
        _run(command)
    made = _found(name)
    if made is None:
        raise CannotMake("it was made, and the user database does not show it")
    return made


def _commands(name: str) -> list[list[str]]:
    """Return the commands of this system: those of shadow, or else of BusyBox."""
    shell = next((path for path in _SHELLS if os.path.exists(path)), _SHELLS[-1])
    useradd = shutil.which("useradd", path=_PATH)
    if useradd:
        options = ["--system", "--user-group", "--no-create-home", "--home-dir", _HOME]
        return [[useradd, *options, "--shell", shell, name]]
    addgroup, adduser = (shutil.which(word, path=_PATH) for word in ("addgroup", "adduser"))
    if addgroup and adduser:
        options = ["-S", "-D", "-H", "-h", _HOME, "-s", shell, "-G", name]
        return [[addgroup, "-S", name], [adduser, *options, name]]
    raise CannotMake("this system has neither useradd nor adduser")


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            env={"PATH": _PATH, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotMake(str(error)) from error
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip() or f"exit code {done.returncode}"
        raise CannotMake(said)
