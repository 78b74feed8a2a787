"""Validation of labels: a task's own, and those that a target requires of a worker."""

from __future__ import annotations

from shared.json_pointer import child
from tasks.field_reader import FieldReader, called_in_json, text_problem
from tasks.limits import LABEL_KEY_LENGTH, LABEL_VALUE_LENGTH, LABELS


def read_labels(reader: FieldReader, key: str) -> dict[str, str]:
    """Return the field's labels; note what is wrong."""
    labels = reader.mapping(key)
    if len(labels) > LABELS:
        reader.error(key, "too_many", f"Give at most {LABELS} labels.")
        return {}
    for name, value in labels.items():
        at = child(child(reader.pointer, key), name)
        if problem := text_problem(name, longest=LABEL_KEY_LENGTH):
            reader.errors.add(at, problem[0], f"The key: {problem[1]}")
        if not isinstance(value, str):
            reader.errors.add(at, "invalid_type", f"Must be text, not {called_in_json(value)}.")
        elif value and (problem := text_problem(value, longest=LABEL_VALUE_LENGTH)):
            reader.errors.add(at, *problem)
    return dict(labels)
