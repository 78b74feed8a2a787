"""What a filter says in the plain filters of lists and bulk jobs: ``status``, ``label``, ``since``.

A bulk job stores plain filters. A filter of terms that each say the same as one of them can be
taken over; of any other one the job would act on rows that the list does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from insight.filter_language.terms import Filter, Term, Value
from shared.ids import parse_uuid

#: Returns the plain filters that say the same as a term of one value, {} where there are none.
_Say = Callable[[Value, datetime], dict[str, Any]]


def plain_filters(wanted: Filter, now: datetime) -> Mapping[str, Any] | None:
    """Return the plain filters that match the same rows; None where there are none.

    ``now`` is the moment that relative times count from.
    """
    found: dict[str, Any] = {}
    for term in wanted.terms:
        plain = _plain(term, now)
        if not plain or plain.keys() & found.keys():
            return None
        found |= plain
    return found


def _plain(term: Term, now: datetime) -> dict[str, Any]:
    if term.negated:
        return {}
    if term.key == "status":
        return {"status": [value.text.upper() for value in term.values]}
    say = _SAY.get(term.key)
    return {} if say is None or len(term.values) > 1 else say(term.values[0], now)


def _exact(name: str) -> _Say:
    return lambda value, now: {} if "*" in value.text else {name: value.text}


def _text(value: Value, now: datetime) -> dict[str, Any]:
    return {"q": value.text}


def _type(value: Value, now: datetime) -> dict[str, Any]:
    return {"type": value.text.upper()}


def _times(value: Value, now: datetime) -> dict[str, Any]:
    ends = {"since": value.meaning.low, "until": value.meaning.high}
    return {name: end.at(now) for name, end in ends.items() if end is not None}


def _task(value: Value, now: datetime) -> dict[str, Any]:
    try:
        return {"task": parse_uuid(value.text)}
    except ValueError:
        return {}


_SAY: Mapping[str | None, _Say] = {
    None: _text,
    "type": _type,
    "label": _exact("label"),
    "owner": _exact("owner"),
    "cause": _exact("error_signature"),
    "scheduled": _times,
    "task": _task,
}
