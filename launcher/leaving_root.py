"""Makes a process that root starts run as an account, before it does anything else.

Called by ``manage.py`` for ``up`` and for each ``run_`` command. The process keeps only those
rights of root that a setting asks for: to run programs of commands as COMMAND_USER, and to listen
on a port below 1024.
"""

from __future__ import annotations

import compileall
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from launcher import local_state
from launcher.embedded import EmbeddedError, hand_over
from launcher.kept_rights import MARK, wanted
from launcher.passage import can_enter, can_read, can_write, open_way
from launcher.privileges import Account, PrivilegeError, account_of
from shared import rights

_BASE_DIR = Path(__file__).resolve().parent.parent
#: Packages that no process of the product imports.
_NOT_RUN = {"tests", "bench"}
#: Settings that ``env.text`` reads from files, which perhaps only root may read.
_FROM_FILES = (
    "ADMIN_PASSWORD AUDIT_KEYS BOOTSTRAP_API_KEY DATABASE_URL EMAIL_URL ENCRYPTION_KEYS JWT_ISSUERS"
    " LOOPS_DATABASE_URL METRICS_TOKEN OIDC_PROVIDERS REDIS_URL"
    " SECRET_KEY VAPID_PRIVATE_KEY WEB_DATABASE_URL".split()
)


def leave_root() -> None:
    """Start this process anew as the account of its data directory; raise PrivilegeError."""
    data_dir = local_state.data_dir()
    account = account_of(data_dir)
    if account is None:
        return
    for path in _needed():
        open_way(path, account)
    try:
        hand_over(data_dir, account)
    except EmbeddedError as error:
        raise PrivilegeError(str(error)) from error
    _require_archive(account)
    _compile()
    environment = _environment(os.environ, data_dir, account)
    words = _own_words()
    if not can_enter(Path.cwd(), account):
        os.chdir(_BASE_DIR)
    try:
        rights.leave_root(account.uid, account.gid, account.groups, wanted(environment))
        # A new program keeps nothing in memory that root has read.
        os.execve(sys.executable, words, environment)  # noqa: S606 - itself, without a shell
    except OSError as error:
        raise PrivilegeError(
            f"Root cannot become the account {account.name} here ({error.strerror}). Start "
            "Punctual as an unprivileged user instead."
        ) from error


def _own_words() -> list[str]:
    """Return the command line of this process, with the absolute path of its script."""
    script = os.path.abspath(sys.argv[0]) if os.path.isfile(sys.argv[0]) else sys.argv[0]
    given = [script if word == sys.argv[0] else word for word in sys.orig_argv[1:]]
    return [sys.executable, *given]


def _needed() -> Iterator[Path]:
    """Yield the paths that the account must read to run this program."""
    yield _BASE_DIR / "manage.py"
    yield Path(sys.executable)
    for directory in sys.path:
        if directory and os.path.exists(directory):
            yield Path(directory)
    django = importlib.util.find_spec("django")
    if django and django.origin:
        yield Path(django.origin)


def _compile() -> None:
    """Compile our modules, whose directories the account may not write to."""
    for package in (found.parent for found in _BASE_DIR.glob("*/__init__.py")):
        if package.name not in _NOT_RUN:
            compileall.compile_dir(package, quiet=2)


def _require_archive(account: Account) -> None:
    archive = os.environ.get("ARCHIVE_DIR")
    if archive and os.path.isdir(archive) and not can_write(Path(archive), account):
        raise PrivilegeError(
            f"The account {account.name}, which Punctual runs as when root starts it, may not "
            f"write to ARCHIVE_DIR. Give it that: chown -R {account.name} {archive}"
        )


def _environment(given: Mapping[str, str], data_dir: Path, account: Account) -> dict[str, str]:
    made = {**given, **_read_for(account, given), MARK: "1", "HOME": str(data_dir)}
    for name in ("USER", "LOGNAME"):
        made[name] = account.name
    made.pop("XDG_RUNTIME_DIR", None)
    temporary = made.get("TMPDIR")
    if temporary and not can_write(Path(temporary), account):
        del made["TMPDIR"]
    return made


def _read_for(account: Account, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in files that only root can read."""
    found = {}
    for name in _FROM_FILES:
        path = given.get(f"{name}_FILE")
        if name in given or not path or not os.path.isfile(path):
            continue
        if not can_read(Path(path), account):
            found[name] = Path(path).read_text(encoding="utf-8").strip()
    return found
