"""Validation of a task's targets: what its runs' lateness and duration are measured against."""

from __future__ import annotations

from typing import Any

from tasks.choices import TARGETS
from tasks.field_reader import FieldReader
from tasks.limits import TARGET_SECONDS


def read_targets(reader: FieldReader) -> dict[str, Any] | None:
    """Return both targets in seconds, None where neither is given; note what is wrong."""
    inside = reader.part("targets")
    if inside is None:
        return None
    inside.refuse_unknown(TARGETS)
    found = {name: inside.number(name, None, 1, TARGET_SECONDS, nullable=True) for name in TARGETS}
    return found if any(value is not None for value in found.values()) else None
