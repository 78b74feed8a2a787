"""The cost that a receiver reports of an attempt: a header of its answer, or a field of its result.

A cost is a number, of the unit ``units``, or numbers by unit. A receiver is not trusted: a value
that is no cost is left out, with a sentence for the attempt that says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tasks.budgets.units import OWN_UNITS, is_unit

#: The header, in lower case, and the field of a result.
HEADER, FIELD = "x-cost", "cost"
#: The unit of a cost that names none.
PLAIN_UNIT = "units"
#: The largest cost of one attempt in one unit, and the decimals that are kept.
MOST, DECIMALS = 10**12, 6
#: The most units in one cost, and the longest header that is read.
MOST_UNITS, _MOST_TEXT = 8, 400
_NUMBER = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?", re.ASCII)


class Cost(NamedTuple):
    """The cost of an attempt by unit, empty for none, and why a reported one is left out."""

    by_unit: Mapping[str, float]
    ignored: str = ""


NO_COST = Cost({})


def cost_of_headers(headers: Iterable[tuple[str, str]]) -> Cost:
    """Return the cost in the headers of an answer: ``12.5``, or ``tokens=1200, eur=0.04``."""
    text = next(
        (value for name, value in headers if len(name) == len(HEADER) and name.lower() == HEADER),
        None,
    )
    if text is None:
        return NO_COST
    if len(text) > _MOST_TEXT:
        return _ignored("X-Cost", "it is too long")
    if "=" not in text:
        return _read("X-Cost", [(PLAIN_UNIT, _number(text))])
    pairs = [part.partition("=") for part in text.split(",")]
    return _read("X-Cost", [(name.strip(), _number(value)) for name, _, value in pairs])


def cost_of_result(result: Any) -> Cost:
    """Return the cost in a result: a number in its field ``cost``, or an object of numbers."""
    if not isinstance(result, Mapping) or FIELD not in result:
        return NO_COST
    found = result[FIELD]
    if isinstance(found, Mapping):
        return _read("cost", [(str(name), value) for name, value in found.items()])
    return _read("cost", [(PLAIN_UNIT, found)])


def checked(by_unit: Any) -> Mapping[str, float]:
    """Return a cost as it came over the wire; raise ValueError for what is none."""
    if not isinstance(by_unit, Mapping):
        raise ValueError("a cost is an object")
    cost = _read("cost", list(by_unit.items()))
    if cost.ignored:
        raise ValueError(cost.ignored)
    return cost.by_unit


def _read(where: str, pairs: list[tuple[Any, Any]]) -> Cost:
    if not pairs or len(pairs) > MOST_UNITS:
        return _ignored(where, f"it has no unit or more than {MOST_UNITS}")
    found: dict[str, float] = {}
    for unit, value in pairs:
        if not isinstance(unit, str) or not is_unit(unit) or unit in OWN_UNITS or unit in found:
            return _ignored(where, "a unit is invalid, reserved or given twice")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return _ignored(where, "a value is no number from 0 on")
        # Not for NaN either; math.isfinite raises for very large integers.
        if not 0 <= value <= MOST:
            return _ignored(where, f"a value is not between 0 and {MOST}")
        found[unit] = round(float(value), DECIMALS)
    return Cost(found)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def _ignored(where: str, why: str) -> Cost:
    # Without the value: a receiver's text may hold a secret.
    return Cost({}, f"{where} was ignored: {why}.")
