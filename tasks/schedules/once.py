"""A schedule with one instant."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tasks.schedules.base import Occurrence, Spec
from tasks.schedules.describe import once_text
from tasks.schedules.zones import Zone


class OnceSpec(Spec):
    """One occurrence."""

    kind = "once"

    def __init__(self, at: datetime, zone: Zone) -> None:
        self.at = at
        self.zone = zone

    @property
    def text(self) -> str:
        """Return the schedule in plain words."""
        return once_text(self.at, self.zone)

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield the one occurrence when it is still ahead."""
        if self.at > after:
            yield Occurrence(self.at)
