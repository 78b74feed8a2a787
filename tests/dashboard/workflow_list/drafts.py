"""Drafts of tests: a definition with steps, and changes of it as the page sends them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from dashboard.workflow_list.changes import apply
from dashboard.workflow_list.draft import Draft, draft_of
from shared.redaction import MASK

#: A definition with something of everything, also what the list does not show.
RICH: Mapping[str, Any] = {
    "name": "Flow",
    "schedule": {"cron_expression": "0 2 * * *", "working_day": 3},
    "labels": {"team": "data"},
    "x-unknown": {"kept": True},
    "steps": [
        {
            "key": "extract",
            "target": {
                "url": "https://api.example.com/extract",
                "headers": {"Authorization": MASK, "X-Day": "{{ input.day }}"},
                "auth": {"type": "bearer", "token": MASK},
            },
            "payload": {"day": "{{ input.day }}", "n": 1.0, "deep": [None, {"a": []}]},
            "retry_policy": {"max_attempts": 3, "rules": [{"statuses": ["429"]}]},
        },
        {
            "key": "load",
            "depends_on": ["extract"],
            "for_each": "{{ steps.extract.output.files }}",
            "max_parallel": 5,
            "target": {"kind": "command", "command": "load", "arguments": ["--all", "x"]},
            "payload": "a text: with a colon",
            "whatfor": 1,
        },
        {"key": "approve", "kind": "approval", "depends_on": ["load"], "timeout_seconds": 86400},
        {
            "key": "publish",
            "depends_on": ["approve", "load"],
            "condition": "all_done",
            "target": {"kind": "pool", "pool": "gpu", "handler": "publish", "requires": {"a": "b"}},
            "compensate": {"target": {"url": "https://api.example.com/undo"}, "payload": {"k": 1}},
        },
    ],
}
EXTRACT, LOAD, APPROVE, PUBLISH = 1, 2, 3, 4


def rich() -> dict[str, Any]:
    """Return the rich definition, to be changed."""
    return copy.deepcopy(dict(RICH))


def change(draft: Draft | Mapping[str, Any], do: str, card: int = 0, **sent: str) -> Draft:
    """Apply a change to a draft, or to the draft of a definition; return it."""
    made = draft if isinstance(draft, Draft) else draft_of(copy.deepcopy(dict(draft)))
    apply(made, {"do": do, "card": str(card), **sent}, [])
    return made


def put(draft: Draft | Mapping[str, Any], card: int, field: str, *values: str) -> Draft:
    """Set a field of a card; return the draft."""
    made = draft if isinstance(draft, Draft) else draft_of(copy.deepcopy(dict(draft)))
    apply(made, {"do": "set", "card": str(card), "field": field}, list(values))
    return made


def steps_of(draft: Draft) -> dict[str, Any]:
    """Return the steps by key."""
    return {step["key"]: step for step in draft.steps}
