"""Facts about the installation for its operators: servers, processes, tables, clocks, versions.

Every fact is one of a fixed list: numbers, versions, states, and names that the deployment itself
has given. No text of a tenant, no payload, no secret and no address is among them, so that the
whole may be sent to people who help. Doors show it to those who may see processes.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from typing import Any

from django.conf import settings

from executions.ledger.days import DAILY_TABLES, day_of, parent_of
from executions.loop.clocks import database_now
from insight.statistics import fleet
from shared.clock_watch import offsets
from shared.conf import conf
from shared.instants import format_instant
from shared.redis_client import ConnectionFailed, client
from shared.sql import rows
from tasks.schedules.zones import release

_PACKAGES = ("django", "celery", "channels", "djangorestframework", "psycopg", "redis", "uvicorn")
_INFO = (
    *("used_memory", "maxmemory", "maxmemory_policy", "aof_enabled", "aof_last_write_status"),
    *("uptime_in_seconds", "connected_clients"),
)


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table with all its days; ``rows`` is the planner's estimate."""

    name: str
    bytes: int
    rows: int
    days: int


@dataclass(frozen=True, slots=True)
class History:
    """The days that the ledger has tables for, as dates; None without any."""

    first_day: str | None
    last_day: str | None
    retention_days: int


@dataclass(frozen=True, slots=True)
class ProcessClock:
    """By how much a process's clock is proven to be off; a negative one is behind."""

    process: str
    seconds: float


def version() -> str:
    """Return the version of Punctual that this process runs."""
    return str(settings.SPECTACULAR_SETTINGS["VERSION"])


def versions() -> dict[str, str]:
    """Return the versions of Punctual, Python, the zone database and the packages that matter."""
    found = {"punctual": version(), "python": platform.python_version(), "tzdata": release()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def tables() -> list[TableSize]:
    """Return the tables, the largest first."""
    return [TableSize(*row) for row in rows("installation_reads/table_sizes")]


def history() -> History:
    """Return which days the ledger has."""
    days = [
        f"{day_of(name.rpartition('_')[2]):%Y-%m-%d}"
        for table in DAILY_TABLES
        for (name,) in rows("prune/existing_days", {"parent": parent_of(table)})
    ]
    return History(min(days, default=None), max(days, default=None), conf().retention_days)


def database() -> dict[str, str | int]:
    """Return the version of PostgreSQL, the settings of durability, and its sessions."""
    found: dict[str, str | int] = dict(rows("doctor/settings"))
    for name in ("max_connections", "superuser_reserved_connections", "server_version_num"):
        found[name] = int(found[name])
    return {**found, "connections": int(rows("doctor/connections")[0][0])}


def redis_server() -> dict[str, str | int] | None:
    """Return version, memory and persistence of Valkey or Redis; None while it is away."""
    try:
        info: dict[str, Any] = client().info()
    except ConnectionFailed:
        return None
    product = "valkey" if "valkey_version" in info else "redis"
    found: dict[str, str | int] = {
        "product": product,
        "version": str(info.get(f"{product}_version", "")),
    }
    return found | {name: info[name] for name in _INFO if name in info}


def clocks() -> list[ProcessClock] | None:
    """Return the clock of each process, the worst first; None while Redis is away."""
    try:
        return [ProcessClock(_plain_name(one.process), one.seconds) for one in offsets()]
    except ConnectionFailed:
        return None


def describe() -> dict[str, Any]:
    """Return all facts as one document; an operator may send it to others."""
    found_clocks = clocks()
    return {
        "at": format_instant(database_now()),
        "versions": versions(),
        "database": database(),
        "redis": redis_server(),
        "history": asdict(history()),
        "tables": [asdict(one) for one in tables()],
        **_processes(),
        "clocks": None if found_clocks is None else [asdict(one) for one in found_clocks],
        "settings": _numeric_settings(),
    }


def _processes() -> dict[str, Any]:
    schedulers = fleet.schedulers()
    try:
        workers = [one for one in fleet.workers() if not one.leases]
        recorders = fleet.recorders()
    except ConnectionFailed:
        return {"schedulers": _of_schedulers(schedulers), "workers": None, "recorders": None} | (
            _partitions()
        )
    return {
        "schedulers": _of_schedulers(schedulers),
        "workers": [
            {
                "name": _plain_name(one.name),
                "pool": one.pool,
                "state": one.state,
                "version": one.version,
                "capacity": one.capacity,
                "in_flight": one.in_flight,
                "held": one.held,
                "memory_bytes": one.memory_bytes,
                "silent_seconds": round(one.silent_seconds, 3),
            }
            for one in workers
        ],
        "recorders": [
            {
                "name": _plain_name(one.name),
                "live": one.live,
                "pending": one.pending,
                "silent_seconds": round(one.silent_seconds, 3),
            }
            for one in recorders
        ],
        **_partitions(),
    }


def _of_schedulers(found: Sequence[fleet.SchedulerView]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "live": one.live,
            "reaches_redis": one.reaches_redis,
            "partitions": one.partitions,
            "started_at": format_instant(one.started_at),
            "silent_seconds": round(one.silent_seconds, 3),
        }
        for one in found
    ]


def _partitions() -> dict[str, Any]:
    found = fleet.partition_map()
    return {
        "partitions": {
            "total": len(found),
            "owned": sum(one.owned for one in found),
            "highest_epoch": max((one.epoch for one in found), default=0),
        }
    }


def _numeric_settings() -> dict[str, int | float | bool]:
    """Return the settings that are numbers or switches: no text, which may be secret, is one."""
    found = {field.name: getattr(conf(), field.name) for field in fields(conf())}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _plain_name(name: str) -> str:
    """Return the name of a process without its host."""
    return name.partition("@")[0]
