"""Validation of the names in targets: of pools, and of what a worker runs."""

from __future__ import annotations

import re

from tasks.definition import WORKFLOW_POOL
from tasks.field_reader import FieldReader, suggest
from tasks.limits import NAME_LENGTH, POOL_NAME_LENGTH, Limits

_POOL = re.compile(r"[a-z0-9]([a-z0-9_-]{0,48}[a-z0-9])?")
_CALLABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,199}")
#: The pools of webhooks, of the product's own work, and of runs of workflows.
_OWN_POOLS = ("default", "system", WORKFLOW_POOL)


def is_pool_name(name: str) -> bool:
    """Return whether a pool may have the name."""
    return _POOL.fullmatch(name) is not None


def read_pulled_pool(reader: FieldReader, limits: Limits) -> str:
    """Return the name of a pool that the tenant's own workers lease from; it must be there."""
    reader.require("pool", "Give the name of the pool whose workers take the work.")
    name = _pool(reader, "")
    if name and name not in (known := limits.pools()):
        reader.error(
            "pool",
            "pool_unknown",
            f"There is no pool {name!r}; its first worker's lease makes it, or "
            f"PATCH /v1/pools/{name}.{suggest(name, known)}",
        )
    return name


def read_own_pool(reader: FieldReader, default: str) -> str:
    """Return the name of a pool of this deployment's workers, for handlers or commands."""
    name = _pool(reader, default)
    if name in _OWN_POOLS:
        message = f"The pool {name!r} takes other work; use {default!r} or one of your own."
        reader.error("pool", "pool_reserved", message)
    return name


def read_callable(reader: FieldReader, key: str) -> str:
    """Return the name under which a deployment offers a handler or a command."""
    reader.require(key, f"Give the name of the {key}.")
    name: str = reader.text(key, "", longest=NAME_LENGTH)
    if name and not _CALLABLE.fullmatch(name):
        message = "Begins with a letter or _, then letters, digits and any of _ . : - only."
        reader.error(key, "name_invalid", message)
    return name


def _pool(reader: FieldReader, default: str) -> str:
    name: str = reader.text("pool", default, longest=POOL_NAME_LENGTH)
    if name and not is_pool_name(name):
        message = "Lower-case letters, digits, and _ or - between them."
        reader.error("pool", "name_invalid", message)
        return default
    return name
