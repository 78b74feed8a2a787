"""How kombu wants the Redis URL spelled; used by the settings."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit


def broker_url(redis_url: str) -> str:
    """Return kombu's spelling of a Redis URL; only sockets are spelled differently."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    password = f":{parts.password}@" if parts.password else ""
    return f"redis+socket://{password}{parts.path}?virtual_host={database}"
