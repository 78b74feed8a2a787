"""Completes a filter that is being typed: fields first, behind ``key:`` its values.

Values that are not listed come from the tenant's own rows, few of each. Where reading them takes
too long, none is suggested: it is asked with each letter that is typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from uuid import UUID

from executions.models import DeadLetter, Pool
from insight.filter_language.fields import Field, Vocabulary
from insight.filter_language.tokens import MAX_LENGTH, quoted
from insight.list_budget import OutOfTime, within
from tasks.models import Task

#: Suggestions at a time, and the newest rows that values are collected from.
MOST = 12
_LOOKED_AT = 1000
_BUDGET_MS = 250


def suggest(text: str, vocabulary: Vocabulary, tenant_id: UUID) -> list[str]:
    """Return whole filters that the text may become, at most ``MOST``; [] for one too long."""
    if len(text) > MAX_LENGTH or "\0" in text:
        return []
    before, last = _split_last(text)
    sign = "-" if last.startswith("-") else ""
    key, colon, value = last.removeprefix("-").partition(":")
    if not colon:
        found: Iterable[str] = (
            f"{name}:" for name in vocabulary.fields if name.startswith(key.lower())
        )
    elif key.lower() in vocabulary.fields:
        field = vocabulary.fields[key.lower()]
        begun, comma, partial = value.rpartition(",")
        partial = partial.replace('"', "")
        found = (
            f"{field.name}:{begun}{comma}{quoted(one)}"
            for one in _values(field, tenant_id, partial)
            if one.lower().startswith(partial.lower())
        )
    else:
        found = ()
    return [f"{before}{sign}{one}" for one in islice(found, MOST)]


def _split_last(text: str) -> tuple[str, str]:
    """Return what stands before the term that is being typed, and that term."""
    within_quotes = False
    start = 0
    for place, letter in enumerate(text):
        if letter == '"':
            within_quotes = not within_quotes
        elif letter.isspace() and not within_quotes:
            start = place + 1
    return text[:start], text[start:]


def _values(field: Field, tenant_id: UUID, partial: str) -> Iterable[str]:
    if field.listed:
        return field.listed
    stored = _STORED.get(field.name)
    if stored is None:
        return field.kind.examples
    try:
        return within(_BUDGET_MS, lambda: list(stored(tenant_id, partial)))
    except OutOfTime:
        return ()


def _tasks(tenant_id: UUID, partial: str) -> Iterable[str]:
    found = Task.objects.for_tenant(tenant_id).filter(name__istartswith=partial)
    return found.order_by("-created_at", "-id").values_list("name", flat=True)[:MOST]


def _labels(tenant_id: UUID, partial: str) -> Iterable[str]:
    found = Task.objects.for_tenant(tenant_id).with_labels().order_by("-created_at", "-id")
    labels = found.values_list("labels", flat=True)[:_LOOKED_AT]
    return sorted({f"{key}:{value}" for one in labels for key, value in one.items()})


def _of_newest_tasks(column: str) -> Callable[[UUID, str], Iterable[str]]:
    def found(tenant_id: UUID, partial: str) -> Iterable[str]:
        newest = Task.objects.for_tenant(tenant_id).order_by("-created_at", "-id")
        return sorted({one for one in newest.values_list(column, flat=True)[:_LOOKED_AT] if one})

    return found


def _pools(tenant_id: UUID, partial: str) -> Iterable[str]:
    return Pool.objects.filter(tenant_id=tenant_id).order_by("name").values_list("name", flat=True)


def _of_newest_letters(column: str) -> Callable[[UUID, str], Iterable[str]]:
    def found(tenant_id: UUID, partial: str) -> Iterable[str]:
        newest = DeadLetter.objects.for_tenant(tenant_id).order_by("-id")
        return sorted({one for one in newest.values_list(column, flat=True)[:_LOOKED_AT] if one})

    return found


_STORED: Mapping[str, Callable[[UUID, str], Iterable[str]]] = {
    "task": _tasks,
    "label": _labels,
    "host": _of_newest_tasks("destination"),
    "owner": _of_newest_tasks("owner"),
    "pool": _pools,
    "cause": _of_newest_letters("error_signature"),
    "error": _of_newest_letters("error_code"),
    "resolution": _of_newest_letters("resolution"),
}
