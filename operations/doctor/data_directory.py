"""Checks of the data directory: who may read it, how full its disk is, sockets and keys."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from django.conf import settings

from launcher import local_state
from launcher.run_lock import LOCK_FILE, holder
from operations.doctor.finding import Finding, bad, good, odd
from shared.conf import conf

_GIB = 2**30
_PRIVATE_FILES = (local_state.SECRETS_FILE, local_state.RUNTIME_FILE, LOCK_FILE)


def permissions() -> Finding:
    """Check that only the owner may read the data directory and its secrets."""
    directory = local_state.data_dir()
    if not directory.exists():
        return good("data directory", f"{directory} does not exist; nothing was started here")
    problems = list(_too_open(directory))
    if problems:
        return bad(
            "data directory",
            "; ".join(problems),
            f"chmod go-rwx {directory} and the files named.",
        )
    mode = stat.S_IMODE(directory.stat().st_mode)
    return good("data directory", f"{directory} is {mode:04o}, its secrets 0600")


def _too_open(directory: Path) -> Iterator[str]:
    mode = stat.S_IMODE(directory.stat().st_mode)
    # The right to search is harmless: after a start by root, the servers' account needs it.
    if mode & (stat.S_IRWXG | stat.S_IRWXO) & ~(stat.S_IXGRP | stat.S_IXOTH):
        yield f"{directory} is {mode:04o}"
    for name in _PRIVATE_FILES:
        path = directory / name
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            yield f"{name} is {mode:04o}"


def disk_space() -> Finding:
    """Check that the disk of the data has free space."""
    directory = local_state.data_dir()
    place = directory / "servers" if (directory / "servers").exists() else directory
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    evidence = f"{usage.free / _GIB:.1f} GiB free of {usage.total / _GIB:.1f} at {place}"
    remedy = "Free disk space, or lower RETENTION_DAYS."
    if usage.free < _GIB / 2:
        return bad("disk", evidence, remedy)
    if usage.free < 2 * _GIB or usage.free < usage.total / 20:
        return odd("disk", evidence, remedy)
    return good("disk", evidence)


def sockets() -> Finding:
    """Check the sockets of the embedded servers while they run."""
    directory = local_state.data_dir()
    if holder(directory) is None:
        return good("sockets", f"`up` does not run on the data directory {directory}")
    paths = _socket_paths(settings.DATABASE_URL, settings.REDIS_URL)
    if not paths:
        return good("sockets", "external servers are used")
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        return bad("sockets", f"missing: {', '.join(missing)}", "Restart `manage.py up`.")
    open_ones = [str(path) for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_ones:
        remedy = "Restart `manage.py up`, which makes them private."
        return bad("sockets", f"others may connect to {', '.join(open_ones)}", remedy)
    return good("sockets", f"{len(paths)} in {paths[0].parent}, for their owner only")


def _socket_paths(database_url: str, redis_url: str) -> list[Path]:
    found = []
    parts = urlsplit(database_url)
    host = parse_qs(parts.query).get("host", [""])[0]
    if host.startswith("/"):
        found.append(Path(host) / f".s.PGSQL.{parts.port or 5432}")
    if redis_url.startswith("unix:"):
        found.append(Path(urlsplit(redis_url).path))
    return found


def encryption_keys() -> Finding:
    """Check that payloads and secrets can be sealed."""
    keys = list(conf().encryption_keys)
    if not keys:
        return bad(
            "encryption keys",
            "there is none",
            "Set ENCRYPTION_KEYS, or run `manage.py up`, which makes one.",
        )
    return good("encryption keys", f"{keys[0]} is active" + _others(keys))


def audit_keys() -> Finding:
    """Check that entries of the audit log are authenticated."""
    keys = list(conf().audit_keys)
    if not keys:
        return odd(
            "audit keys",
            "there is none: the audit log can be written anew unnoticed",
            "Set AUDIT_KEYS, or run `manage.py up`, which makes one.",
        )
    return good("audit keys", f"{keys[0]} is active, {len(keys)} verify")


def _others(keys: list[str]) -> str:
    return f"; {len(keys) - 1} more can open values" if len(keys) > 1 else ""
