"""Trials of the demo: a room fails or is slow for a bounded time, and counts what arrives.

Only a receiver that was started for the demo takes them. A fault begins and ends by itself. The
tally has each attempt of each execution, so that repeats show.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from receiver.messages import Answer, Request, answer_json, one_of, whole_number

FAULTS = ("none", "fail", "slow")
SLOW_MS = 3000
#: A trial's requests are far fewer; a flood must not fill the memory.
MAX_COUNTED = 20_000
_LONGEST_SECONDS = 600
_FAILURE = {"error": "The demo's receiver fails on purpose for a while."}


@dataclass(slots=True)
class _Count:
    times: int = 0
    answered_ok: int = 0


@dataclass(slots=True)
class Trial:
    """A fault between two moments of a monotonic clock, and the tally since the trial began."""

    fault: str
    begins: float
    ends: float
    clock: Callable[[], float] = time.monotonic
    _tally: dict[tuple[str, str], _Count] = field(default_factory=dict)
    _is_full: bool = False

    @property
    def acts(self) -> bool:
        """Return whether the fault changes answers now."""
        return self.fault != "none" and self.begins <= self.clock() < self.ends

    def judge(self, request: Request, answer: Answer) -> Answer:
        """Return the answer as the fault makes it, and count the request."""
        if self.acts:
            answer = _spoilt(self.fault, answer)
        self._count(request, answer)
        return answer

    def described(self) -> dict[str, Any]:
        """Return the state of the fault and the tally; seconds are negative once they are past."""
        now = self.clock()
        return {
            "fault": self.fault,
            "acts": self.acts,
            "begins_in": round(self.begins - now, 3),
            "ends_in": round(self.ends - now, 3),
            "complete": not self._is_full,
            "attempts": [
                [execution, attempt, one.times, one.answered_ok]
                for (execution, attempt), one in self._tally.items()
            ],
        }

    def _count(self, request: Request, answer: Answer) -> None:
        key = (request.header("webhook-id") or "", request.header("x-scheduler-attempt") or "")
        count = self._tally.get(key)
        if count is None:
            if len(self._tally) >= MAX_COUNTED:
                self._is_full = True
                return
            count = self._tally[key] = _Count()
        count.times += 1
        count.answered_ok += answer.status is not None and answer.status < 300


def begun(query: dict[str, str], clock: Callable[[], float] = time.monotonic) -> Trial:
    """Return the trial that a query asks for: ``fault``, ``after`` and ``seconds``; ValueError."""
    fault = one_of(query, "fault", FAULTS)
    after = whole_number(query, "after", 0, (0, _LONGEST_SECONDS))
    seconds = whole_number(query, "seconds", 0, (0, _LONGEST_SECONDS))
    begins = clock() + after
    return Trial(fault, begins, begins + seconds, clock)


def _spoilt(fault: str, answer: Answer) -> Answer:
    if fault == "fail":
        return answer_json(503, _FAILURE)
    return replace(answer, delay_ms=answer.delay_ms + SLOW_MS)
