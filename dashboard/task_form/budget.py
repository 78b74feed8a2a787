"""The budget of a task in the form: a line for each entry, such as ``100 runs per day``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.task_form.values import Form, lines, show_plain

_LINE = re.compile(r"(\S+)\s+(\S+)(?:\s+(?:per|a)\s+(\S+))?")


def read_budget(form: Form) -> list[dict[str, Any]]:
    """Return the entries that the lines of the field describe; note lines that describe none."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines(form.fields.get("budget", "")), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        limit = _number(match[1]) if match else None
        if match is None or limit is None:
            message = f"Line {number} is not like “100 runs per day”."
            form.refuse("#/budget", "invalid", message)
            continue
        entry = {"unit": match[2], "limit": limit}
        found.append({**entry, "per": match[3]} if match[3] else entry)
    return found


def show_budget(budget: Iterable[Mapping[str, Any]]) -> str:
    """Return the lines that show a budget."""
    return "\n".join(
        f"{show_plain(one['limit'])} {one['unit']} per {one.get('per', 'day')}" for one in budget
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
