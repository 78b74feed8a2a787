"""``python -m tests.model``: explore the model and tell the shortest way to each planted bug.

``--wide`` explores the wider bounds, too, which takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.model.bounds import (
    JOINS,
    JOINS_LARGE,
    LARGE,
    SMALL,
    join_of_planted,
    of_planted,
)
from tests.model.explorer import explore, explore_joins
from tests.model.planted import PLANTED, PLANTED_IN_RUNS


def lines(wide: bool) -> Iterator[str]:
    """Yield what is told."""
    for name, setup in {**SMALL, **(LARGE if wide else {})}.items():
        yield f"{name}: {explore(setup)}"
    for name, bounds in {**JOINS, **(JOINS_LARGE if wide else {})}.items():
        yield f"a run of a workflow, {name}: {explore_joins(bounds)}"
    for bug in PLANTED:
        yield f"\nPlanted: {bug}.\n{explore(of_planted(bug))}"
    for bug in PLANTED_IN_RUNS:
        yield f"\nPlanted: {bug}.\n{explore_joins(join_of_planted(bug))}"


if __name__ == "__main__":
    for line in lines("--wide" in sys.argv):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
