"""Waiting at the terminal for executions to end, by asking the database now and then.

Bounded: each query reads the rows by their ids, pauses grow to a second, and there is a timeout.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from uuid import UUID

from executions.choices import FINAL
from executions.models import Execution

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0

Changed = Callable[[Execution], None]


def wait_for(seconds: float) -> None:
    """Let the time pass; Ctrl-C ends it at once."""
    threading.Event().wait(seconds)


def until_final(
    ids: Collection[UUID],
    *,
    timeout: float,
    changed: Changed,
    wait: Callable[[float], None] = wait_for,
    clock: Callable[[], float] = time.monotonic,
) -> list[Execution]:
    """Return the executions when all have ended, or in their state when the time is up.

    Call ``changed`` with each execution whose state or attempt is new, the first time with all.
    """
    deadline = clock() + timeout
    seen: dict[UUID, tuple[str, int]] = {}
    pause = _FIRST_PAUSE
    while True:
        found = list(Execution.objects.filter(id__in=list(ids)).order_by("id"))
        for execution in found:
            state = (execution.status, execution.attempt)
            if seen.get(execution.id) != state:
                seen[execution.id] = state
                changed(execution)
        left = deadline - clock()
        if all(execution.status in FINAL for execution in found) or left <= 0:
            return found
        wait(min(pause, left))
        pause = min(_LONGEST_PAUSE, pause * 2)
