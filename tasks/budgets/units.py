"""The units and the bounds of a task's budget."""

from __future__ import annotations

import re

#: Units that Punctual counts by itself; no receiver reports them.
RUNS, SECONDS = OWN_UNITS = ("runs", "seconds")
#: The bounds of a limit; a limit of runs is a whole number.
SMALLEST_LIMIT, MOST_LIMIT = 0.000001, 10**12
#: What a unit looks like: ``runs``, ``seconds``, or a name that receivers report.
UNIT = "[a-z][a-z0-9_]{0,31}"
_UNIT = re.compile(UNIT, re.ASCII)


def is_unit(name: str) -> bool:
    """Return whether a name can be a unit."""
    return _UNIT.fullmatch(name) is not None
