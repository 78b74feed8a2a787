"""The answers that show audit entries, for every door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from events.models import AuditEntry
from shared.instants import format_instant


def present_entry(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry as every list shows it; ``changes`` has only what differs."""
    before, after = _read(entry.before), _read(entry.after)
    return {
        "id": str(entry.id),
        "sequence": entry.sequence,
        "at": format_instant(entry.at),
        "actor": entry.actor,
        "address": entry.address,
        "trace_id": entry.trace_id,
        "action": entry.action,
        "object_kind": entry.object_kind,
        "object_id": entry.object_id,
        "changes": list(_changes(before, after)),
    }


def _read(text: str | None) -> dict[str, Any]:
    found = {} if text is None else orjson.loads(text)
    return found if isinstance(found, dict) else {"value": found}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each field that differs, fields of objects by their path (``schedule.every``)."""
    old, new = dict(_flat("", before)), dict(_flat("", after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield {"field": name, "before": old.get(name), "after": new.get(name)}


def _flat(path: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        # Changes of a definition have JSON pointers for names.
        name = key[2:] if key.startswith("#/") else f"{path}.{key}" if path else key
        if isinstance(item, Mapping) and item:
            yield from _flat(name, item)
        else:
            yield name, item
