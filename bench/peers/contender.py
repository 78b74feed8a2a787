"""The steps of every contender: start, take a plan, release it, stop; known by its processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.peers.plan import Plan


class CouldNotRunError(Exception):
    """A contender cannot be installed, started, or given its plan."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a contender has written down of a plan, when nothing of it is under way any more."""

    #: Calls that are recorded as succeeded.
    count: int
    #: When the last was seen to be recorded, Unix nanoseconds.
    at_ns: int


class Contender(ABC):
    """A scheduler that is started afresh for one turn.

    Every verb raises CouldNotRunError when it cannot be done. ``stop`` is called in any case,
    also behind a ``start`` that failed half-way.
    """

    name: ClassVar[str]
    #: What has to be installed for it besides the requirements: "python", "node" or nothing.
    needs: ClassVar[str] = ""
    #: Items that it is handed a second, at least; decides how far ahead the due time is chosen.
    pace: ClassVar[float] = 1000.0
    #: Whether its calls have due times; without them a plan begins when it is released.
    timed: ClassVar[bool] = True
    #: How long before a due time work on it may begin: processor time counts from then.
    ahead_seconds: ClassVar[float] = 1.0

    def __init__(self) -> None:
        self._stack = ExitStack()

    @abstractmethod
    def start(self, scratch: Path) -> None:
        """Start servers and workers, with their files in an empty directory; wait for them."""

    @abstractmethod
    def schedule(self, plan: Plan) -> None:
        """Hand the whole plan over; return when the contender has everything."""

    def release(self) -> None:  # noqa: B027 - most have nothing to do
        """Start a plan without due times; does nothing where time alone does that."""

    def recorded(self, plan: Plan) -> Recorded | None:
        """Wait until the plan is written down; None where nothing is kept of a call.

        Called when the calls have arrived. Does not wait for ever: what stays under way is missing
        from the count.
        """
        return None

    def stop(self) -> None:
        """Stop everything that was started."""
        self._stack.close()

    @abstractmethod
    def kinds(self) -> dict[int, str]:
        """Return the kind of each of its processes by id; cheap. "worker" makes the calls."""

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions of what takes part, by package."""


class Killable(Contender):
    """A contender that can be killed with all its servers, and started again on what is left."""

    @abstractmethod
    def kill(self) -> None:
        """Kill every process with SIGKILL, servers included; return when all have ended."""

    @abstractmethod
    def restart(self) -> None:
        """Start servers and workers again on what a kill has left; wait for them."""
