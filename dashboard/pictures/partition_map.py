"""Draws which scheduler owns each partition: 16 by 16 cells, colour and pattern by owner.

Owners keep their look while the set of owners stays the same, because it follows their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, number, plural, tag
from dashboard.pictures.patterns import LINES, pattern

_COLUMNS = 16
_STEP, _SIDE = 21.0, 20.0
_COLOURS = 8
_UNOWNED = "unowned"


@dataclass(frozen=True, slots=True)
class PartitionCell:
    """One partition; ``owner`` is None while no scheduler holds its lease."""

    partition: int
    owner: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class _Look:
    identity: str
    css: str
    lines: str


_Owned = list[tuple[str | None, list[PartitionCell]]]
_Looks = Mapping[str | None, _Look]


def partition_map(cells: Sequence[PartitionCell]) -> SafeString:
    """Return the map in the order of the partitions, its legend and its table."""
    ordered = sorted(cells, key=lambda cell: cell.partition)
    owned = _by_owner(ordered)
    looks = _looks(owned)
    summary = _summary(ordered, owned)
    rows = -(-len(ordered) // _COLUMNS) or 1
    drawing = tag(
        "svg",
        {
            "class": "partition-map",
            "viewBox": f"0 0 {number(_COLUMNS * _STEP - 1)} {number(rows * _STEP - 1)}",
            "role": "group",
            "aria-label": summary,
            "data-roving": "",
            "data-columns": _COLUMNS,
        },
        tag("defs", {}, *(pattern(look.identity, look.lines, look.css) for look in looks.values())),
        *(_cell(cell, place, looks) for place, cell in enumerate(ordered)),
    )
    table = Table(
        ("Owner", "Partitions", "Numbers", "Epochs"),
        [(owner or _UNOWNED, str(len(held)), _spans(held), _epochs(held)) for owner, held in owned],
    )
    legend = _legend(owned, looks)
    return figure("partitions", "Partitions", summary, drawing, legend, table=table)


def _by_owner(cells: Sequence[PartitionCell]) -> _Owned:
    held: dict[str | None, list[PartitionCell]] = {}
    for cell in cells:
        held.setdefault(cell.owner or None, []).append(cell)
    # Partitions without an owner need attention, so they come first.
    return sorted(held.items(), key=lambda item: (item[0] is not None, item[0] or ""))


def _looks(owned: _Owned) -> _Looks:
    """Return class and pattern of each owner; the ninth repeats a colour, not the pair."""
    names = list(LINES)
    looks: dict[str | None, _Look] = {None: _Look("pm-unowned", _UNOWNED, "crossed")}
    for place, owner in enumerate(sorted(owner for owner, _ in owned if owner is not None)):
        again, colour = divmod(place, _COLOURS)
        lines = names[(colour + again) % len(names)]
        looks[owner] = _Look(f"pm-{place}", f"owner-{colour}", lines)
    return looks


def _cell(cell: PartitionCell, place: int, looks: _Looks) -> SafeString:
    row, column = divmod(place, _COLUMNS)
    text = f"partition {cell.partition}, {cell.owner or 'no owner'}, epoch {cell.epoch}"
    return tag(
        "rect",
        {
            "class": "cell",
            "x": column * _STEP,
            "y": row * _STEP,
            "width": _SIDE,
            "height": _SIDE,
            "rx": 2,
            "fill": f"url(#{looks[cell.owner or None].identity})",
            "role": "img",
            "aria-label": text,
            "tabindex": 0 if place == 0 else -1,
        },
        tag("title", {}, text),
    )


def _legend(owned: _Owned, looks: _Looks) -> SafeString:
    return tag("ul", {"class": "legend"}, *(_key(owner, held, looks) for owner, held in owned))


def _key(owner: str | None, held: list[PartitionCell], looks: _Looks) -> SafeString:
    fill = f"url(#{looks[owner].identity})"
    swatch = tag(
        "svg",
        {"class": "key-pattern", "width": 16, "height": 16, "aria-hidden": "true"},
        tag("rect", {"width": 16, "height": 16, "rx": 2, "fill": fill}),
    )
    count = tag("span", {"class": "legend-count"}, f"{len(held):,}")
    return tag("li", {}, swatch, f" {owner or _UNOWNED} ", count)


def _summary(cells: Sequence[PartitionCell], owned: _Owned) -> str:
    if not cells:
        return "No partition is known."
    holders = sum(owner is not None for owner, _ in owned)
    free = sum(len(held) for owner, held in owned if owner is None)
    told = f"{free:,} without an owner" if free else "each with an owner"
    return f"{plural(len(cells), 'partition')} held by {plural(holders, 'scheduler')}, {told}."


def _spans(held: Sequence[PartitionCell]) -> str:
    spans = (f"{low}–{high}" if high > low else str(low) for low, high in _ranges(held))
    return ", ".join(spans)


def _ranges(held: Sequence[PartitionCell]) -> Iterator[tuple[int, int]]:
    low = high = held[0].partition
    for cell in held[1:]:
        if cell.partition != high + 1:
            yield low, high
            low = cell.partition
        high = cell.partition
    yield low, high


def _epochs(held: Sequence[PartitionCell]) -> str:
    lowest, highest = min(c.epoch for c in held), max(c.epoch for c in held)
    return str(lowest) if lowest == highest else f"{lowest}–{highest}"
