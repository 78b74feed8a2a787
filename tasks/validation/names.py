"""Validation of a task's names: its own, its owner and its labels show what they are."""

from __future__ import annotations

from shared.hidden_characters import hidden_problem
from shared.json_pointer import child
from tasks.definition import Definition
from tasks.field_reader import Errors


def check_names(definition: Definition, stored: Definition | None, errors: Errors) -> None:
    """Note hidden characters, except those that the stored definition has in the same place."""
    labels = stored.labels if stored else {}
    if problem := hidden_problem(definition.name, stored.name if stored else ""):
        errors.add("#/name", *problem)
    if problem := hidden_problem(definition.owner or "", (stored and stored.owner) or ""):
        errors.add("#/owner", *problem)
    for key, value in definition.labels.items():
        before = f"{key}{labels[key]}" if key in labels else ""
        if problem := hidden_problem(f"{key}{value}", before):
            errors.add(child("#/labels", key), *problem)
