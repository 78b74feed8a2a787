"""The two shapes of a run, as numbers: ten steps each, and what every step waits for.

Made from the workflows that the other reports give Punctual. Imports the standard library only,
since a peer's programs run in an environment that has none of Punctual's packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.peers.plan import Plan
from bench.workflows.definitions import chain, ten_steps

CHAIN, GRAPH = "chain", "graph"
#: Of a run of either shape; the number of a call is that of its run, then the digit of its step.
STEPS = 10


def body(shape: str, url: str) -> dict[str, Any]:
    """Return the shape as a workflow of Punctual's, each step at this URL."""
    return chain(url, STEPS) if shape == CHAIN else ten_steps(url)


def parents(shape: str) -> tuple[tuple[int, ...], ...]:
    """Return which steps each step waits for; a step's number is its place in the workflow."""
    steps = body(shape, "")["steps"]
    places = {step["key"]: number for number, step in enumerate(steps)}
    return tuple(tuple(places[key] for key in step["depends_on"]) for step in steps)


def levels(shape: str) -> list[list[int]]:
    """Return the steps in groups: those of a group wait for all of the group before it."""
    depth: list[int] = []
    for before in parents(shape):
        depth.append(1 + max((depth[one] for one in before), default=-1))
    return [
        [step for step, found in enumerate(depth) if found == level]
        for level in range(max(depth) + 1)
    ]


@dataclass(frozen=True, slots=True)
class Runs(Plan):
    """``count`` runs of one shape, numbered from 0; each begins ``step_ms`` after the last."""

    shape: str = CHAIN

    @property
    def calls(self) -> int:
        """How many calls all runs make."""
        return self.count * STEPS

    def name_of(self, run: int) -> str:
        """Return a name that no run of another plan has."""
        return f"{self.at_ms}-{run}"


def shape_of(plan: Plan) -> str:
    """Return the shape of a plan's runs; ValueError for a plan of single calls."""
    if not isinstance(plan, Runs):
        raise ValueError("a plan without a shape")
    return plan.shape


def number_of(run: int, step: int) -> int:
    """Return the number by which the receiver knows the call of a step."""
    return run * STEPS + step
