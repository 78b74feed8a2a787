"""Steps of workflows as callers write them, read by the rules of validation."""

from __future__ import annotations

from typing import Any

from tasks.field_reader import Errors, FieldReader
from tasks.validation.steps import read_steps
from tests.tasks.bodies import LIMITS

HOOK = {"url": "https://api.example.com/x"}


def step(key: str, *depends_on: str, **parts: Any) -> dict[str, Any]:
    """Return the body of a step that calls a webhook."""
    return {"key": key, "target": HOOK, "depends_on": list(depends_on), **parts}


def read(steps: Any) -> list[dict[str, Any]]:
    """Return the steps in normal form; raise InvalidInput."""
    errors = Errors()
    found = read_steps(FieldReader({"steps": steps}, "#", errors), LIMITS)
    errors.raise_if_any()
    return found


def problems(steps: Any) -> list[tuple[str, str]]:
    """Return pointer and code of each error."""
    errors = Errors()
    read_steps(FieldReader({"steps": steps}, "#", errors), LIMITS)
    return [(error.pointer, error.code) for error in errors.renamed(str)]


def sentences(steps: Any) -> list[str]:
    """Return the sentence of each error."""
    errors = Errors()
    read_steps(FieldReader({"steps": steps}, "#", errors), LIMITS)
    return [error.message for error in errors.renamed(str)]
