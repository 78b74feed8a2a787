"""What is to be called and when: the same plan for every contender.

Handed to their programs as one line of JSON. Imports the standard library only, since some of
those programs run in an environment that has none of Punctual's packages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

#: What a worker prints, on a line by itself or within one, when it takes work.
READY = "this peer is ready"
#: Of the body of each call.
BODY_BYTES = 500
_FRAME_BYTES = len('{"number":,"text":""}')


@dataclass(frozen=True, slots=True)
class Plan:
    """``count`` calls, numbered from 0; each is due ``step_ms`` after the one before it."""

    #: Of the receiver, without a path.
    url: str
    count: int
    #: When the first is due, Unix milliseconds.
    at_ms: int
    #: 0 for all at one instant.
    step_ms: float = 0.0

    def due_ms(self, number: int) -> int:
        """Return when a call is due, Unix milliseconds."""
        return self.at_ms + math.floor(number * self.step_ms)

    def url_of(self, number: int) -> str:
        """Return the URL of a call, by which the receiver knows it."""
        return f"{self.url}/hook/{number}"

    def batches(self, size: int) -> Iterator[range]:
        """Yield all numbers in order, at most ``size`` at a time."""
        for begin in range(0, self.count, size):
            yield range(begin, min(begin + size, self.count))

    @property
    def receipt(self) -> str:
        """What a worker that schedules by itself prints when it has the whole plan."""
        return f"scheduled {self.count} for {self.at_ms}"

    def as_line(self) -> str:
        """Return the plan as JSON in one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Self:
        """Return the plan of such a line."""
        return cls(**json.loads(line))


def payload(number: int) -> dict[str, Any]:
    """Return what a call sends, as a document."""
    padding = BODY_BYTES - _FRAME_BYTES - len(str(number))
    return {"number": number, "text": "x" * padding}


def body(number: int) -> str:
    """Return what a call sends, as the JSON text that goes over the wire: 500 bytes."""
    return json.dumps(payload(number), separators=(",", ":"))
