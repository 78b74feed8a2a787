"""A person's pace: the keystroke-level model of Card, Moran and Newell (1980).

Its operators have fixed times, so that a count of clicks and keys becomes seconds that two
products, or two releases, can be compared by. What the console itself takes is measured beside
them and never mixed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: A key, by a typist of 40 words a minute.
KEY_SECONDS = 0.28
#: Pointing at something on the screen.
POINT_SECONDS = 1.10
#: A button of the mouse, pressed and released.
CLICK_SECONDS = 0.20
#: The hand from the keyboard to the mouse or back.
HOME_SECONDS = 0.40
#: Deciding what comes next, and finding it.
THINK_SECONDS = 1.35


@dataclass
class Tally:
    """What a person has done so far, and how long the model says that this takes."""

    clicks: int = 0
    keys: int = 0
    thoughts: int = 0
    homings: int = 0
    #: What the console took to show each next page or part, measured.
    waited_seconds: float = 0.0
    _at_mouse: bool = field(default=True, repr=False)

    def think(self) -> None:
        """Count one decision."""
        self.thoughts += 1

    def click(self, count: int = 1) -> None:
        """Count pointing and clicking."""
        self._move(to_mouse=True)
        self.clicks += count

    def press(self, count: int = 1) -> None:
        """Count keys."""
        self._move(to_mouse=False)
        self.keys += count

    def _move(self, *, to_mouse: bool) -> None:
        if self._at_mouse is not to_mouse:
            self.homings += 1
            self._at_mouse = to_mouse

    @property
    def seconds(self) -> float:
        """The modelled seconds of the person, without what the console took."""
        return (
            self.keys * KEY_SECONDS
            + self.clicks * (POINT_SECONDS + CLICK_SECONDS)
            + self.homings * HOME_SECONDS
            + self.thoughts * THINK_SECONDS
        )
