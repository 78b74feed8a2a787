"""Telling consoles that something changed: topics and alerts to a tenant's sockets.

The live feed, the alerter and Celery tasks call it after their commit. A message that cannot be
sent is counted and lost. That does no harm: pages read their content over HTTP, and a new socket
begins with a full refresh.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from notifications.channel_layer import publish
from shared.redis_client import ConnectionFailed, client

log = logging.getLogger(__name__)

TOPICS = ("tasks", "executions", "dead_letters", "workers", "bulk_jobs", "alerts")
#: The group of every socket, for topics of no tenant.
EVERYONE = "everyone"

_unsent = 0


def group_of(tenant_id: UUID) -> str:
    """Return the group of a tenant's sockets."""
    return f"tenant.{tenant_id}"


def group_of_key(key_id: UUID) -> str:
    """Return the group of the sockets that a key has opened."""
    return f"key.{key_id}"


def publish_key_change(key_id: UUID) -> None:
    """Have the sockets of a key checked now; without Redis they are checked within a minute."""
    _send(group_of_key(key_id), {"type": "live.recheck"})


def publish_topics(tenant_id: UUID, topics: Iterable[str]) -> None:
    """Tell the tenant's consoles what to read again; never raises when Redis is away."""
    _publish_topics(group_of(tenant_id), topics)


def publish_topics_to_all(topics: Iterable[str]) -> None:
    """Tell every console; never raises when Redis is away."""
    _publish_topics(EVERYONE, topics)


def publish_alert(tenant_id: UUID, *, id: UUID | str, severity: str, title: str, url: str) -> None:
    """Show an alert in the tenant's consoles; never raises when Redis is away."""
    alert = {"id": str(id), "severity": severity, "title": title, "url": url}
    _send(group_of(tenant_id), {"type": "live.alert", "alert": alert})


def publish_recheck(tenant_id: UUID) -> None:
    """Make the tenant's sockets ask at once whether they may still listen; never raises.

    A socket that misses the message asks by itself within a minute.
    """
    _send(group_of(tenant_id), {"type": "live.recheck"})


def group_of_session(sign_in_id: UUID | str) -> str:
    """Return the group of a session's sockets."""
    return f"session.{sign_in_id}"


def close_sockets_of(sign_in_ids: Iterable[UUID]) -> None:
    """Close the sockets of ended sessions; without Redis they close at their next check."""
    for one in sign_in_ids:
        if not _send(group_of_session(one), {"type": "live.ended"}):
            break  # a person waits, and each further try may take seconds


def unsent() -> int:
    """Return how many messages this process could not send."""
    return _unsent


def current_version() -> int:
    """Return the version that a message of this moment has: milliseconds of Redis' clock."""
    seconds, microseconds = client().time()
    return int(seconds) * 1000 + int(microseconds) // 1000


def _publish_topics(group: str, topics: Iterable[str]) -> None:
    wanted = sorted(set(topics))
    if wanted:
        _send(group, {"type": "live.topics", "topics": wanted}, versioned=True)


def _send(group: str, message: Mapping[str, Any], *, versioned: bool = False) -> bool:
    global _unsent
    try:
        stamp = {"version": current_version()} if versioned else {}
        publish(group, {**message, **stamp})
    except ConnectionFailed as error:
        _unsent += 1
        log.warning(
            "live_message.not_sent", extra={"reason": type(error).__name__, "unsent": _unsent}
        )
        return False
    return True
