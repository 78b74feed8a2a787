"""The right place of an unknown field: another part, or another kind of target.

The error for an unknown field ends with it, so that a person can mend a definition with misplaced
fields without the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tasks.choices import TARGET_KINDS, TIMING_FIELDS
from tasks.definition import (
    ONE_TIME_SCHEDULE_DEFAULTS,
    RECURRING_SCHEDULE_DEFAULTS,
    RETRY_DEFAULTS,
    TARGET_DEFAULTS_BY_KIND,
)
from tasks.field_reader import FieldReader, spell

#: Parts of a definition -> their fields; the top has the others.
_PARTS: Mapping[str, frozenset[str]] = {
    "schedule": frozenset(
        {*TIMING_FIELDS, *RECURRING_SCHEDULE_DEFAULTS, *ONE_TIME_SCHEDULE_DEFAULTS}
    ),
    "target": frozenset(key for known in TARGET_DEFAULTS_BY_KIND.values() for key in known),
    "retry_policy": frozenset(RETRY_DEFAULTS),
}
_TOP = frozenset(
    {
        "name",
        "payload",
        "labels",
        "priority",
        "depends_on",
        "redact",
        "on_dependency_failure",
        "budget",
        "concurrency",
        "targets",
        "type",
        *_PARTS,
    }
)


def outside_of(part: str) -> Callable[[str], str]:
    """Return the function that names the right place of a part's unknown field; '' is the top."""
    return partial(_place, part)


def refuse_unknown_of_kind(reader: FieldReader, kind: str) -> None:
    """Note every field of a target that its kind does not have, with the kinds that have it."""
    reader.refuse_unknown(TARGET_DEFAULTS_BY_KIND[kind], elsewhere=partial(_kinds, kind))


def missing_kind(data: Mapping[str, Any]) -> str:
    """Return the error of a target without a kind that can be no webhook, '' for others."""
    if "kind" in data or "url" in data:
        return ""
    webhook = TARGET_DEFAULTS_BY_KIND["webhook"]
    foreign = [key for key in data if key in _PARTS["target"] and key not in webhook]
    if not foreign:
        return ""
    kinds = [kind for kind in TARGET_KINDS if _has_all(kind, foreign)] or _having(foreign)
    return (
        f"Give the kind: {spell([repr(kind) for kind in kinds])}, by its "
        f"{spell(foreign, 'and')}. A target without a kind is a webhook, which calls a url."
    )


def _kinds(kind: str, key: str) -> str:
    others = _having([key])
    if not others:
        return _place("target", key)
    return f" Targets of kind {spell([repr(one) for one in others])} have it, not a {kind!r}."


def _place(part: str, key: str) -> str:
    for name, known in _PARTS.items():
        if key in known and name != part:
            return f" It belongs into {name}."
    return " It belongs at the top, beside schedule and target." if part and key in _TOP else ""


def _having(keys: list[str]) -> list[str]:
    return [
        kind for kind in TARGET_KINDS if any(key in TARGET_DEFAULTS_BY_KIND[kind] for key in keys)
    ]


def _has_all(kind: str, keys: list[str]) -> bool:
    return all(key in TARGET_DEFAULTS_BY_KIND[kind] for key in keys)
