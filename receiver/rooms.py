"""A room of the test receiver for each tenant: the requests below its address, and its counts.

A request enters a room by its segment, which the receiver checks and which cannot be guessed. Rooms
are bounded in number and in size: the receiver forgets the room first that was entered longest ago,
so that a tenant that sends much loses its own requests before another's.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from receiver.answers import Answers
from receiver.messages import Request
from receiver.records import RecentRequests
from receiver.signature import SignatureCheck
from receiver.trials import Trial
from shared.receiver_address import SEGMENT, is_segment

#: With :data:`receiver.records.MAX_BYTES` each, a bound on the receiver's memory.
MAX_ROOMS = 128
_TARGET = re.compile(rf"/(?P<segment>{SEGMENT.pattern})(?P<rest>[/?].*)?", re.DOTALL)


@dataclass(slots=True)
class Room:
    """The answers and the requests of one segment, and its trial in a demo."""

    segment: str
    answers: Answers
    recent: RecentRequests = field(default_factory=RecentRequests)
    trial: Trial | None = None


class Rooms:
    """The rooms that were entered lately."""

    def __init__(self, key: bytes, check: SignatureCheck | None) -> None:
        self._key = key
        self._check = check
        self._rooms: OrderedDict[str, Room] = OrderedDict()

    def enter(self, request: Request) -> tuple[Request, Room] | None:
        """Return the request as it is below its segment, and the room; None without a segment."""
        found = _TARGET.fullmatch(request.target)
        room = found and self.find(found["segment"])
        if not found or room is None:
            return None
        rest = found["rest"] or "/"
        below = rest if rest.startswith("/") else f"/{rest}"
        return replace(request, target=below, base=f"/{found['segment']}"), room

    def find(self, segment: str) -> Room | None:
        """Return the room of a segment; None for an invalid segment."""
        room = self._rooms.get(segment)
        if room is None:
            if not is_segment(self._key, segment):
                return None
            room = self._rooms[segment] = Room(segment, Answers(self._check))
            if len(self._rooms) > MAX_ROOMS:
                self._rooms.popitem(last=False)
        self._rooms.move_to_end(segment)
        return room
