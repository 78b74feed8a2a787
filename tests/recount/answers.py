"""Numbers of answers by their places, and the comparison with what a recount gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from executions.loop.clocks import database_now
from tests.recount.recounts import World

#: What names an element of a list, the first one that it has; its place where it has none.
_IDENTITIES = (
    *("id", "error_signature", "host", "key", "minute", "hour", "day", "at", "pool", "name"),
    *("destination", "correlation"),
)


class Since:
    """How many seconds ago a moment was, between the begin of the call and now."""

    def __init__(self, world: World, moment: float) -> None:
        self.low, self.moment = world.at.timestamp() - moment, moment

    def __eq__(self, other: object) -> bool:
        now = database_now().timestamp() - self.moment
        return isinstance(other, int | float) and self.low - 0.01 <= other <= now + 0.01

    __hash__ = None  # type: ignore[assignment]  # compared only

    def __repr__(self) -> str:
        """Show the bound in a failure's text."""
        return f"{self.low:.3f} or a little more"


@dataclass(frozen=True)
class Recount:
    """An answer of the API, what it has to say by the tables, and the numbers that this recounts.

    ``leave`` are fields that are no counts here: what was written comes back.
    """

    path: str
    right: Callable[[World], dict[str, Any]]
    numbers: Sequence[str]
    leave: frozenset[str] = field(default_factory=frozenset)


def numbers(answer: Any, leave: frozenset[str] = frozenset(), at: str = "") -> dict[str, Any]:
    """Return each number of a document by its place, such as ``groups[timeout].count``."""
    if isinstance(answer, dict):
        parts: Iterator[tuple[str, Any]] = (
            (f"{at}.{name}" if at else name, value)
            for name, value in answer.items()
            if name not in leave
        )
    elif isinstance(answer, list):
        parts = ((f"{at}[{_identity(value, n)}]", value) for n, value in enumerate(answer))
    elif isinstance(answer, bool) or answer is None or isinstance(answer, str):
        return {}
    else:
        return {at: answer}
    return {
        place: one for name, value in parts for place, one in numbers(value, leave, name).items()
    }


def _identity(value: Any, place: int) -> Any:
    if not isinstance(value, dict):
        return place
    return next((value[name] for name in _IDENTITIES if value.get(name) is not None), place)


def wrong(shown: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """Return what differs, one line for each number."""
    found = [f"{place} is not recounted: {shown[place]}" for place in shown.keys() - right.keys()]
    found += [f"{place} is missing: {right[place]}" for place in right.keys() - shown.keys()]
    found += [
        f"{place}: {shown[place]!r} where {right[place]!r} is right"
        for place in shown.keys() & right.keys()
        if not right[place] == shown[place]  # noqa: SIM201 - the recount decides what equals it
    ]
    return sorted(found)
