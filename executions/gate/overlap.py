"""Decide on due work by an overlap policy and a limit; computes, and writes nothing.

The gate passes the executions that take a group's places, and the group's due work. A group is a
task's own executions, or the ones that one bulk job made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar
from uuid import UUID

Due = TypeVar("Due")


class Waiting(Protocol):
    """A due execution that waits at the gate."""

    @property
    def id(self) -> UUID:
        """Of the execution."""

    @property
    def patient(self) -> bool:
        """Whether it was asked for, and waits for a place under every policy."""

    @property
    def gave_way(self) -> bool:
        """Whether it had its place, and gave it to a run that a run under way waits for."""


Run = TypeVar("Run", bound=Waiting)

#: How many executions without a place wait for one; the others are skipped.
_WAITING = {"skip": 0, "queue_one": 1}


@dataclass(frozen=True, slots=True)
class Place:
    """An unfinished execution that counts against the limit of its group.

    ``cancelling``: it was asked to end, and keeps its place until it has ended. ``retries``: it is
    a later take of a workflow's run.
    """

    id: UUID
    status: str
    token: int | None
    cancelling: bool
    retries: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The occupancy of a group: its ``limit`` (None: any number) and its places, oldest first.

    For a group without policy and limit, ``places`` may be fewer than the executions under way.
    """

    policy: str
    limit: int | None
    paused: bool
    places: tuple[Place, ...] = ()
    #: Whether its task has a budget.
    budgeted: bool = False

    @property
    def budget_only(self) -> bool:
        """Whether its budget alone decides on it."""
        return self.budgeted and self.policy == "allow" and self.limit is None

    @property
    def active(self) -> list[UUID]:
        """Return the executions that take a place."""
        return [place.id for place in self.places]

    def room(self, wanted: int) -> int:
        """Return how many of ``wanted`` executions find a place now."""
        if self.limit is None:
            return wanted
        return max(0, min(wanted, self.limit - len(self.places)))


@dataclass(frozen=True, slots=True)
class Decision(Generic[Due]):
    """The decision on due work; ``cancel`` has to end so that ``wait`` finds a place."""

    admit: Sequence[Due] = ()
    skip: Sequence[Due] = ()
    wait: Sequence[Due] = ()
    cancel: Sequence[Place] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.admit or self.skip or self.cancel)


def decide(standing: Standing, due: Sequence[Due]) -> Decision[Due]:
    """Return the decision on a group's due work, given oldest first.

    While the task is paused all of it waits: the gate decides again when the task is resumed.
    """
    if standing.paused:
        return Decision(wait=due)
    if standing.policy == "cancel_running" and standing.limit is not None:
        return _replace(standing, standing.limit, due)
    room = standing.room(len(due))
    rest = due[room:]
    # An instant that finds only a retry in its place waits for it, also where it would be skipped.
    retries = sum(place.retries for place in standing.places)
    kept = _WAITING.get(standing.policy, len(rest)) + retries
    return Decision(admit=due[:room], skip=rest[kept:], wait=rest[:kept])


def judge(standing: Standing, due: Sequence[Run]) -> Decision[Run]:
    """Return the decision on due work, oldest first, of which some waits under every policy.

    A run that gave its place away comes before the others and ends none: it is neither skipped nor
    does it take back what it gave. With ``cancel_running`` newer instants replace it, as if it had
    its place. What was asked for takes the places that the rest leaves, and replaces nothing.
    """
    if not due:
        return Decision()
    back = [row for row in due if row.gave_way and not row.patient]
    asked = [row for row in due if row.patient]
    if standing.paused or not (back or asked):
        return decide(standing, due)
    rest = [row for row in due if not (row.patient or row.gave_way)]
    replaced: Sequence[Run] = ()
    ahead: Sequence[Run] = ()
    if standing.policy == "cancel_running" and standing.limit is not None:
        kept = max(0, standing.limit - len(rest))
        replaced, back = back[: max(0, len(back) - kept)], back[max(0, len(back) - kept) :]
    else:
        ahead = back[: standing.room(len(back))]
        back = back[len(ahead) :]
        places = (Place(row.id, "PENDING", None, cancelling=False) for row in ahead)
        standing = replace(standing, places=(*standing.places, *places))
    found = decide(standing, rest)
    later = [*back, *asked]
    taken = len(found.admit) + len(found.wait)
    room = max(0, standing.room(taken + len(later)) - taken)
    return Decision(
        admit=[*ahead, *found.admit, *later[:room]],
        skip=[*replaced, *found.skip],
        # First the one that frees places: it has asked for them.
        wait=[*found.wait, *later[room:]],
        cancel=found.cancel,
    )


def _replace(standing: Standing, limit: int, due: Sequence[Due]) -> Decision[Due]:
    """Give the places to the newest, as deciding one after the other would do in the end."""
    newest = due[-limit:]
    room = standing.room(len(newest))
    ending = sum(place.cancelling for place in standing.places)
    needed = max(0, len(standing.places) - ending + len(newest) - limit)
    running = [place for place in standing.places if not place.cancelling]
    return Decision(
        admit=newest[:room], skip=due[:-limit], wait=newest[room:], cancel=running[:needed]
    )
