"""Holds a worker's executions until their time: soonest first, then by priority.

The start guard is asked a little ahead, so that its answer is there when the time comes, and also
about all work that is due a moment later: a question costs as much as starting several executions.
"""

from __future__ import annotations

import heapq

from worker.entries import ROUNDING_SECONDS, Held, Place

#: A question and its answer take a millisecond where Redis is near, and ten of them while the
#: processors have other things to do.
_AHEAD_SECONDS = 0.015
#: Work that is due this much later is asked about in the same question. A cancel in that time finds
#: it started, and ends it before it is sent.
_TOGETHER_SECONDS = 0.02


class Waiting:
    """Work that is not due yet.

    Work whose destination has limits asks at its time, not earlier: its place or slot would stay
    unused until then, or it would be refused and ask again.
    """

    def __init__(self) -> None:
        self._heap: list[Place] = []

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, held: Held) -> None:
        """Keep work until its time, ``held.due``."""
        heapq.heappush(self._heap, held.place)

    def take(self, now: float) -> list[Held]:
        """Remove and return the work to ask the start guard about; some is due in a moment."""
        taken: list[Held] = []
        while self._heap:
            due, held = self._heap[0][0], self._heap[0][-1]
            if due - now > (0.0 if held.exact else _AHEAD_SECONDS + _TOGETHER_SECONDS):
                break
            heapq.heappop(self._heap)
            taken.append(held)
        return taken

    def next_in(self, now: float) -> list[float]:
        """Return in how many seconds to take again; nothing when nothing waits."""
        if not self._heap:
            return []
        due, held = self._heap[0][0], self._heap[0][-1]
        ahead = 0.0 if held.exact else _AHEAD_SECONDS
        return [max(0.0, due - now - ahead) + ROUNDING_SECONDS]

    def clear(self) -> list[Held]:
        """Remove and return everything."""
        held = [place[-1] for place in self._heap]
        self._heap.clear()
        return held
