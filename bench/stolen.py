"""How much of the processor time that this machine asked for its host gave to others.

A virtual machine on a full host gets its processors late: figures in seconds are then those of a
slower machine, and percentiles tell of the host. Every report says how much it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class Processors:
    """Ticks of all processors since the machine began: spent, and kept by its host (proc(5))."""

    spent: int
    stolen: int

    def stolen_percent_since(self, before: Processors) -> float:
        """Return what the host kept since then, in hundredths of what was asked for."""
        stolen = self.stolen - before.stolen
        asked = self.spent - before.spent + stolen
        return round(100 * stolen / asked, 1) if asked else 0.0


def read(text: str | None = None) -> Processors:
    """Return the ticks as the kernel tells them now, or as the text of ``/proc/stat`` says."""
    first = (_STAT.read_text(encoding="ascii") if text is None else text).splitlines()[0]
    # Idle and waiting for a disk is nothing asked for; what guests take is part of the first two.
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first.split()[1:9])
    return Processors(user + nice + system + irq + softirq, steal)
