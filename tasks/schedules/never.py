"""The schedule of what runs only when it is asked to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tasks.schedules.base import Occurrence, Spec
from tasks.schedules.zones import Zone


class NeverSpec(Spec):
    """Expects nothing at any time."""

    kind = "never"

    def __init__(self, zone: Zone) -> None:
        self.zone = zone

    @property
    def text(self) -> str:
        """Return the schedule in plain words."""
        return "Only when asked"

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield nothing."""
        return iter(())
