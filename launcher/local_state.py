"""The files of the data directory: generated secrets and the addresses of the running servers.

``up`` writes them; the settings read them, so that every other command finds the running
database and Redis. Both files are readable by their owner only.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SECRETS_FILE = "secrets.json"
RUNTIME_FILE = "runtime.json"


def data_dir() -> Path:
    """Return the data directory (``DATA_DIR``, ``./var`` unless given) as an absolute path."""
    base = Path(__file__).resolve().parent.parent
    return (base / os.environ.get("DATA_DIR", "var")).resolve()


def not_running(directory: Path) -> str:
    """Return the message that the installation does not run on this data directory."""
    return (
        f"Punctual is not running on the data directory {directory}. "
        "If it runs on another one, name that: DATA_DIR=/path."
    )


def load_secrets(directory: Path) -> dict[str, Any]:
    """Return the generated secrets, or nothing where ``up`` has not made them yet."""
    return _read(directory / SECRETS_FILE)


def ensure_secrets(directory: Path) -> dict[str, Any]:
    """Return the secrets of this installation; make and store the missing ones."""
    found = load_secrets(directory)
    missing = {name: make for name, make in _SECRETS.items() if name not in found}
    if not missing:
        return found
    made = {"schema": 1, **found, **{name: make() for name, make in missing.items()}}
    write_private(directory / SECRETS_FILE, made)
    return made


def _vapid_key() -> str:
    # Every number below the order of P-256 is a key; below 2**255 all are.
    raw = secrets.randbits(255) or 1
    return base64.urlsafe_b64encode(raw.to_bytes(32, "big")).decode().rstrip("=")


_SECRETS: dict[str, Callable[[], str]] = {
    "secret_key": lambda: secrets.token_urlsafe(64),
    "encryption_keys": lambda: f"k1:{base64.b64encode(secrets.token_bytes(32)).decode()}",
    # The id tells the keys of two machines apart that have each made their own.
    "audit_keys": lambda: (
        f"a{secrets.token_hex(3)}:{base64.b64encode(secrets.token_bytes(32)).decode()}"
    ),
    "postgres_password": lambda: secrets.token_urlsafe(24),
    "postgres_web_password": lambda: secrets.token_urlsafe(24),
    "postgres_loops_password": lambda: secrets.token_urlsafe(24),
    "valkey_password": lambda: secrets.token_urlsafe(24),
    "vapid_private_key": _vapid_key,
}


def load_runtime(directory: Path) -> dict[str, Any]:
    """Return the addresses of the running installation, or nothing when it does not run."""
    return _read(directory / RUNTIME_FILE)


def web_address_beside(runtime: Mapping[str, Any], database_url: str) -> str:
    """Return the web's address of the running installation; empty beside another database's."""
    same = database_url == runtime.get("database_url", "")
    return str(runtime.get("web_database_url", "")) if same else ""


def loops_address_beside(runtime: Mapping[str, Any], database_url: str) -> str:
    """Return the loops' address of the running installation; empty beside another database's."""
    same = database_url == runtime.get("database_url", "")
    return str(runtime.get("loops_database_url", "")) if same else ""


def write_runtime(directory: Path, values: dict[str, Any]) -> None:
    """Store the addresses of the running installation."""
    write_private(directory / RUNTIME_FILE, {"schema": 1, **values})


def write_private(path: Path, values: dict[str, Any]) -> None:
    """Replace the file at once (rename) with mode 0600; never leave half a file behind."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_suffix(f".{os.getpid()}.new")
    # A killed process or another user may have left it: never write through it.
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        if os.geteuid() == 0:
            # The directory's owner runs there, and may read the file at any moment.
            owner = path.parent.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        json.dump(values, handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    scratch.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
