"""Cancel tasks of asyncio until they have ended."""

from __future__ import annotations

import asyncio
from typing import Any

#: How long a cancelled task may take to close its resources before it is cancelled again.
_AGAIN_SECONDS = 0.5


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks; return when each has ended, and raise none of their errors.

    A task that continues is cancelled again. Before Python 3.12 ``asyncio.wait_for`` drops a
    cancellation that arrives just as its awaitable ends, and the client of Redis sends every
    command through it. A task that does little else may ignore a single ``cancel()``, and a wait
    for it would never return.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
