"""The definition of a workflow as text: YAML or JSON, read strictly, and written to be edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from shared.exceptions import FieldError, InvalidInput
from shared.strict_json import read_json
from shared.strict_yaml import read_yaml, write_yaml
from tasks.definition import (
    RECURRING_SCHEDULE_DEFAULTS,
    RETRY_DEFAULTS,
    TARGET_DEFAULTS_BY_KIND,
)

#: Letters of the text; a definition of a thousand steps has a few hundred thousand.
LONGEST = 2_000_000
#: Values of a step that are left out because they are the defaults.
_STEP_DEFAULTS: Mapping[str, Any] = {
    "kind": "target",
    "condition": "all_success",
    "depends_on": [],
    "sensitive": False,
    "min_success_share": 1.0,
    "accept_earlier_seconds": 0,
}
_WORKFLOW_DEFAULTS: Mapping[str, Any] = {
    "on_failure": "fail_fast",
    "labels": {},
    "priority": 5,
    "budget": [],
}
#: Of a schedule of any kind. A zone is written in any case, for its reader. So is jitter: a copy
#: without it would get the tenant's default.
_SCHEDULE_DEFAULTS: Mapping[str, Any] = {
    name: value
    for name, value in RECURRING_SCHEDULE_DEFAULTS.items()
    if name not in ("timezone", "jitter_seconds")
}


def read_text(text: str) -> Any:
    """Return the value of the text; raise InvalidInput that says what is wrong and where."""
    if len(text) > LONGEST:
        message = f"The text has more than {LONGEST:,} letters."
        raise InvalidInput([FieldError("#", "too_long", message)], message)
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text)
    return read_yaml(text)


def write_text(body: Any) -> str:
    """Return a definition as YAML; as JSON in one line where YAML is longer than a text may be."""
    text = write_yaml(body)
    return text if len(text) <= LONGEST else orjson.dumps(body).decode()


def without_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a workflow as a definition, without the values that are defaults."""
    shown = _without(fields, _WORKFLOW_DEFAULTS)
    shown["steps"] = [_step(step) for step in fields["steps"]]
    if shown.get("schedule"):
        shown["schedule"] = _schedule(shown["schedule"])
    return shown


def _schedule(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule without its copy of ``max_concurrent``.

    The workflow itself has that field, and validation refuses two different values.
    """
    shown = _without(schedule, _SCHEDULE_DEFAULTS)
    shown.pop("max_concurrent", None)
    return shown


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    shown = _without(step, _STEP_DEFAULTS)
    if step.get("target"):
        shown["target"] = _target(step["target"])
    if step.get("retry_policy"):
        shown["retry_policy"] = _without(step["retry_policy"], RETRY_DEFAULTS)
    if step.get("compensate"):
        undo = {**step["compensate"], "target": _target(step["compensate"]["target"])}
        shown["compensate"] = _without(undo, {})
    return shown


def _target(target: Mapping[str, Any]) -> dict[str, Any]:
    kind = target["kind"]
    shown = _without(target, TARGET_DEFAULTS_BY_KIND[kind])
    return shown if kind == "webhook" else {"kind": kind, **shown}


def _without(value: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: part
        for key, part in value.items()
        if part is not None and (key not in defaults or defaults[key] != part)
    }
