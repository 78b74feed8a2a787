"""The state of a list editor between two answers: the definition, and which cards are open.

Pure. The page sends it with each change, and gets it back changed: the server keeps none of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from dashboard.workflow_list.fields import Path
from shared.exceptions import FieldError, InvalidInput
from tasks.field_reader import called_in_json, spell

_SHOWN_NAMES = 5
#: Cards of a page of the list.
PAGE = 100
#: Place of the workflow's own fields, in place of the number of a card.
WORKFLOW = 0
#: The first fields of a step, as texts have them.
_ORDER = ("key", "kind", "depends_on", "condition", "when", "for_each", "target", "payload")
_NUMBERS = re.compile(r"[0-9]{1,6}(?: [0-9]{1,6})*")


@dataclass(frozen=True, slots=True)
class Unread:
    """Text that was typed into a field and has no value there."""

    card: int
    path: Path
    text: str
    message: str


@dataclass(slots=True)
class Draft:
    """The definition as the list has it; ``cards`` has the number of each step's card, in order."""

    body: dict[str, Any]
    cards: list[int]
    opened: set[int] = field(default_factory=set)
    page: int = 0
    #: Card and field that get the focus; None where it stays.
    focus: tuple[int, str] | None = None
    said: str = ""
    unread: Unread | None = None
    changed: bool = False
    #: Whether the change was refused; ``said`` has the reason.
    has_failed: bool = False

    @property
    def steps(self) -> list[Any]:
        """The steps of the definition."""
        found: list[Any] = self.body.setdefault("steps", [])
        return found

    @property
    def text(self) -> str:
        """The definition as JSON."""
        return orjson.dumps(self.body).decode()

    def place(self, card: int) -> int:
        """Return the place of a card's step; raise InvalidInput where it is gone."""
        try:
            return self.cards.index(card)
        except ValueError:
            raise refused("This step is not in the list any more. Nothing was changed.") from None

    def part(self, card: int) -> dict[str, Any]:
        """Return the step of a card, or the workflow itself; raise InvalidInput."""
        if card == WORKFLOW:
            return self.body
        step = self.steps[self.place(card)]
        if not isinstance(step, dict):
            raise refused(f"This step is {called_in_json(step)}, not an object. Mend it as text.")
        return step

    def insert(self, place: int, step: dict[str, Any]) -> int:
        """Put a step at a place and open its card; return the card."""
        card = max(self.cards, default=WORKFLOW) + 1
        self.steps.insert(place, step)
        self.cards.insert(place, card)
        self.show(card, "key")
        return card

    def show(self, card: int, name: str) -> None:
        """Open a card on its page, with the focus in a field."""
        self.focus = (card, name)
        if card != WORKFLOW:
            self.opened.add(card)
            self.page = self.place(card) // PAGE


def draft_of(body: Any, sent: Mapping[str, str] | None = None) -> Draft:
    """Return the draft of a definition; raise InvalidInput where the list cannot show it."""
    if not isinstance(body, dict):
        called = called_in_json(body)
        raise refused(f"A workflow is an object with a name and steps, not {called}.")
    steps = body.get("steps", [])
    if not isinstance(steps, list):
        raise refused(f"The steps must be a list, not {called_in_json(steps)}.")
    given = sent or {}
    cards = _numbers(given.get("cards", ""))
    if len(cards) != len(steps) or len(set(cards)) != len(cards) or WORKFLOW in cards:
        cards = list(range(1, len(steps) + 1))
    opened = set(_numbers(given.get("opened", ""))) & set(cards)
    [page] = _numbers(given.get("page", ""))[:1] or [0]
    return Draft(body, cards, opened, min(page, max(0, len(steps) - 1) // PAGE))


def sort_step(part: dict[str, Any]) -> None:
    """Put the first fields of a step in their order; texts are read from the top."""
    if "key" not in part or "steps" in part:
        return
    known = [name for name in _ORDER if name in part]
    ordered = {name: part[name] for name in (*known, *(one for one in part if one not in known))}
    part.clear()
    part.update(ordered)


def listed(names: Sequence[str]) -> str:
    """Return names as words: the first ones, and how many more there are."""
    more = len(names) - _SHOWN_NAMES
    return spell([*names[:_SHOWN_NAMES], *([f"{more} more"] if more > 0 else [])], "and")


def refused(message: str) -> InvalidInput:
    """Return the error of a change that the list cannot make."""
    return InvalidInput([FieldError("#", "invalid", message)], message)


def _numbers(text: str) -> list[int]:
    found = text.strip()
    return [int(one) for one in found.split(" ")] if _NUMBERS.fullmatch(found) else []
