"""Cancel tasks of asyncio until they have ended."""

from __future__ import annotations

import asyncio
from typing import Any

#: How long a cancelled task may take to close what it holds before it is cancelled again.
_AGAIN_SECONDS = 0.5


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks; return when each has ended, and raise nothing of theirs.

    A task that goes on is cancelled again. Before Python 3.12 ``asyncio.wait_for`` drops a
    cancellation that arrives in the moment in which what it waits for ends, and the client of Redis
    sends every command through it. A task that does little else may ignore a single ``cancel()``,
    and waiting for it after that never returns.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
