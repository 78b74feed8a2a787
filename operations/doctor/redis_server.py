"""Checks of Valkey or Redis: version, persistence, eviction."""

from __future__ import annotations

from typing import Any

from operations.doctor.finding import Finding, bad, good, odd
from operations.doctor.machine import installed
from shared.redis_client import client

_LOWEST_VALKEY, _LOWEST_REDIS = (8,), (7,)


def server_version() -> Finding:
    """Check that Punctual supports the version of the server."""
    server = _info("server")
    # Valkey's redis_version is only the version that it is compatible with.
    product, version, lowest = "Redis", str(server.get("redis_version", "0")), _LOWEST_REDIS
    if "valkey_version" in server:
        product, version, lowest = "Valkey", str(server["valkey_version"]), _LOWEST_VALKEY
    evidence = f"{product} {version}"
    if tuple(int(part) for part in version.split(".")[:1]) < lowest:
        return bad("redis", evidence, "Use Valkey 8 or later, or Redis 7 or later.")
    return good("redis", evidence)


def timeouts() -> Finding:
    """Check that no call to Redis can wait for ever."""
    options = client().connection_pool.connection_kwargs
    timeouts = {name: options.get(name) for name in ("socket_timeout", "socket_connect_timeout")}
    evidence = ", ".join(f"{name} {value} s" for name, value in timeouts.items())
    if None in timeouts.values():
        return bad("redis timeouts", evidence, "Give the client both timeouts.")
    return good("redis timeouts", f"redis-py {installed('redis')}: {evidence}")


def persistence() -> Finding:
    """Check that outcomes which no recorder has read yet survive a restart of the server."""
    found = _info("persistence")
    if not int(found.get("aof_enabled", 0)):
        return odd(
            "redis persistence",
            "no append-only file",
            "Set appendonly yes: a restart loses outcomes not yet recorded, and their requests "
            "are sent again.",
        )
    if found.get("aof_last_write_status") != "ok":
        evidence = "the append-only file cannot be written"
        return bad("redis persistence", evidence, "See the server's log; the disk may be full.")
    return good("redis persistence", "append-only file, last write ok")


def eviction() -> Finding:
    """Check that a full server refuses writes instead of evicting keys."""
    memory = _info("memory")
    policy, limit = str(memory.get("maxmemory_policy")), int(memory.get("maxmemory", 0))
    used = int(memory["used_memory"])
    evidence = f"{policy}, {used / 2**20:.0f} MiB used"
    if limit:
        evidence += f" of {limit / 2**20:.0f}"
    if policy != "noeviction":
        return bad("redis eviction", evidence, "Set maxmemory-policy noeviction.")
    if limit and used * 10 > limit * 8:
        return odd("redis eviction", evidence, "Raise maxmemory.")
    return good("redis eviction", evidence)


def _info(section: str) -> dict[str, Any]:
    return client().info(section)
