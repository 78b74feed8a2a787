"""The screen of ``top`` without a terminal: what keys do, and the lines that are shown.

Keys that change something are upper-case, and ask first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from operations.top.tables import TABS, Row, Shown
from shared.commands import shown

Style = Literal["plain", "heading", "chosen", "bar"]
Line = tuple[str, Style]

#: Key -> what it does with a row, and the tabs whose rows can be so treated.
VERBS = {"C": ("Cancel", ("under way", "waiting")), "R": ("Retry", ("failed",))}
KEYS = "←→ tabs  ↑↓ rows  / filter  C cancel  R retry  q quit"
_ABOVE, _BELOW = 2, 2
#: A tab before it is read.
NOTHING = Shown((), ())


@dataclass(frozen=True, slots=True)
class Act:
    """What the person has confirmed: a key of VERBS, for a row."""

    key: str
    row: Row


@dataclass(slots=True)
class Screen:
    """What the person has chosen so far, and the tab as it was last read."""

    table: Shown = NOTHING
    tab: int = 0
    row: int = 0
    words: str = ""
    message: str = ""
    #: Whether letters belong to the filter.
    types: bool = False
    ended: bool = False
    #: What waits for a yes.
    _asked: Act | None = field(default=None)

    @property
    def name(self) -> str:
        """Return the name of the tab."""
        return list(TABS)[self.tab]

    def is_open(self, name: str) -> bool:
        """Return whether this tab is still looked at."""
        return self.name == name and not self.ended

    @property
    def rows(self) -> list[Row]:
        """Return the rows that the filter leaves: each word occurs in one of the cells."""
        words = self.words.casefold().split()
        return [
            row
            for row in self.table.rows
            if all(any(word in cell.casefold() for cell in row.cells) for word in words)
        ]

    def show(self, table: Shown) -> None:
        """Take what was read; the chosen row stays chosen where it is still there."""
        before = self._chosen()
        self.table = table
        ids = [row.id for row in self.rows]
        if before is not None and before.id is not None and before.id in ids:
            self.row = ids.index(before.id)
        self.row = max(0, min(self.row, len(ids) - 1))

    def press(self, key: str) -> Act | None:
        """Apply a key: a letter, or the name of another key. Return what is to be done now."""
        if self._asked is not None:
            return self._answer(key)
        if self.types:
            self._type(key)
        elif key in ("left", "right"):
            self.tab = (self.tab + (1 if key == "right" else -1)) % len(TABS)
            self.row, self.message, self.table = 0, "", NOTHING
        elif key in ("up", "down"):
            self.row = max(0, min(self.row + (1 if key == "down" else -1), len(self.rows) - 1))
        elif key == "/":
            self.types = True
        elif key == "q":
            self.ended = True
        elif key in VERBS:
            self._ask(key)
        return None

    def lines(self, width: int, height: int) -> Iterator[Line]:
        """Yield the lines of a screen of this size, none wider."""
        tabs = "  ".join(f"[{one}]" if one == self.name else f" {one} " for one in TABS)
        yield shown(tabs, width), "bar"
        rows = self.rows
        # The heading goes with the rows, so that it is as wide as they are.
        texts = _columns([self.table.heading, *(row.cells for row in rows)])
        yield shown(texts[0], width), "heading"
        room = max(0, height - _ABOVE - _BELOW)
        first = max(0, self.row - room + 1) if self.table.heading else 0
        for number, text in list(enumerate(texts[1:]))[first : first + room]:
            chosen = number == self.row and bool(self.table.heading)
            yield shown(text, width), "chosen" if chosen else "plain"
        for _ in range(room - len(texts[1:][first : first + room])):
            yield "", "plain"
        yield shown(self._note(len(rows)), width), "plain"
        yield shown(f"/{self.words}▏" if self.types else KEYS, width), "bar"

    def _note(self, count: int) -> str:
        if self._asked is not None:
            verb = VERBS[self._asked.key][0]
            return f"{verb} {self._asked.row.cells[0]} {self._asked.row.cells[-1]}? y/N"
        if self.message:
            return self.message
        if not self.table.heading:
            return ""
        left = f" of {len(self.table.rows)} by /{self.words}" if self.words else ""
        return f"{count}{left}"

    def _chosen(self) -> Row | None:
        rows = self.rows
        return rows[self.row] if self.row < len(rows) else None

    def _ask(self, key: str) -> None:
        verb, tabs = VERBS[key]
        row = self._chosen()
        if self.name not in tabs or row is None or row.id is None:
            self.message = f"{verb}: choose a row under {' or '.join(tabs)}."
        else:
            self._asked = Act(key, row)

    def _answer(self, key: str) -> Act | None:
        asked, self._asked = self._asked, None
        if key in ("y", "Y"):
            return asked
        self.message = "Nothing was changed."
        return None

    def _type(self, key: str) -> None:
        if key == "enter":
            self.types = False
        elif key == "escape":
            self.types, self.words = False, ""
        elif key == "backspace":
            self.words = self.words[:-1]
        elif len(key) == 1 and key.isprintable():
            self.words += key
        self.row = 0


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as aligned texts; a heading without cells is an empty line."""
    cells = [[shown(cell) for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for place, cell in enumerate(row):
            widths[place] = max(widths.get(place, 0), len(cell))
    return [
        "  ".join(cell.ljust(widths[place]) for place, cell in enumerate(row)).rstrip()
        for row in cells
    ]
