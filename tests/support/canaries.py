"""The ends of retries that a bulk job tried first."""

from __future__ import annotations

from tests.factories import finish, release, start


def end_retries(status: str, count: int = 1000) -> None:
    """End executions that retries have made, ``count`` at most, in the state."""
    for row in release(count):
        start([row])
        finish(row, status, reason="planted" if status == "FAILED" else "")
