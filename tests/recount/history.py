"""What the history of a worker has to say, added up from its minutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.recount.page import Number, table
from tests.recount.recounts import World
from tests.recount.world import ask


@dataclass(frozen=True)
class Row:
    """A minute, or the minutes of an hour."""

    at: datetime
    running: list[int]
    slots: int
    held: list[int]
    ended: list[int | None]
    cpu: list[float]
    memory: list[int]

    @property
    def count(self) -> int | None:
        """Return what ended, None where no minute tells."""
        known = [one for one in self.ended if one is not None]
        return sum(known) if known else None

    def cells(self, by: str) -> list[str]:
        """Return the row as the page shows it."""
        ended = "–" if self.count is None else str(self.count)
        memory = f"{max(self.memory) / 2**20:.1f} MB"
        if by == "minute":
            load = [f"{self.running[0]} of {self.slots}", str(self.held[0])]
            return [_clock(self.at), *load, ended, f"{self.cpu[0]:.0f} %", memory]
        load = [
            f"{_mean(self.running)}, most {max(self.running)} of {self.slots}",
            f"{_mean(self.held)}, most {max(self.held)}",
        ]
        cpu = f"{_average(self.cpu):.0f} %, most {max(self.cpu):.0f} %"
        return [_clock(self.at), *load, ended, cpu, memory]


def rows(world: World, hours: int, by: str) -> list[Row]:
    """Return the worker's rows of the last hours, oldest first; an hour counts once it is over."""
    minutes = ask(
        "SELECT minute, running, slots, held, ended_in_minute, cpu_percent, memory_bytes"
        " FROM worker_minutes WHERE worker = %s ORDER BY minute",
        world.page_of,
    )
    since, now = world.at - timedelta(hours=hours), world.at
    kept: dict[datetime, list[tuple[Any, ...]]] = {}
    for minute in minutes:
        start = minute[0] if by == "minute" else minute[0].replace(minute=0)
        over = by == "minute" or start < now.replace(minute=0, second=0, microsecond=0)
        if start >= since and over:
            kept.setdefault(start, []).append(minute[1:])
    found = []
    for start, several in kept.items():
        running, slots, held, ended, cpu, memory = map(list, zip(*several, strict=True))
        found.append(Row(start, running, max(slots), held, ended, cpu, memory))
    return found


def wrong(world: World, number: Number, hours: int, by: str) -> Iterator[str]:
    """Yield what a number of the history says wrongly."""
    found = rows(world, hours, by)
    counts = [row.count for row in found]
    last = found[-1]
    series = {
        "history.running": ("In flight", [round(_average(row.running)) for row in found]),
        "history.ended_by_row": (f"Ended per {by}", [count or 0 for count in counts]),
        "history.cpu": ("CPU in percent", [round(_average(row.cpu)) for row in found]),
    }
    if number.name == f"history.{by}":
        shown, cells = table(number.node), [row.cells(by) for row in reversed(found)]
        if shown != cells:
            yield f"{number.name}: {shown} where {cells} is right"
        return
    right = {
        "history.ended": str(sum(count or 0 for count in counts)),
        "history.running.last": f"{_average(last.running):.3g} of {last.slots}",
        "history.ended_by_row.last": "–" if last.count is None else str(last.count),
        "history.cpu.last": f"{_average(last.cpu):.0f} %",
        **{name: _line(name, *line) for name, line in series.items()},
    }.get(number.name, "no such number")
    said = number.node.attributes.get("aria-label") or number.text
    if said != right:
        yield f"{number.name}: {said!r} where {right!r} is right"


def _line(name: str, label: str, values: list[int]) -> str:
    total = f"{sum(values)} in all, " if name == "history.ended_by_row" else ""
    return f"{label}: {total}{max(values)} at most, {values[-1]} last."


def _average(values: list[Any]) -> float:
    return float(sum(values)) / len(values)


def _mean(values: list[int]) -> str:
    return f"{_average(values):.1f}".removesuffix(".0")


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
