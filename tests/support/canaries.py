"""The ends of retries that a bulk job tried first."""

from __future__ import annotations

from tests.factories import finish, release, start


def end_retries(status: str, count: int = 1000) -> None:
    """Let so many of the executions that retries have made end in the state."""
    for row in release(count):
        start([row])
        finish(row, status, reason="planted" if status == "FAILED" else "")
