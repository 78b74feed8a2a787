"""The schemas of commands that show a task: its definition is that of the API.

``python -m tests.support.task_documents`` writes them into docs/reference/command-schemas again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-schemas"
NAMES = tuple(
    f"tasks-{verb}" for verb in ("clone", "create", "edit", "export", "list", "rollback", "show")
)
#: What tells a task's definition from other objects, and what of it is the API's.
_PARTS = ("target", "retry_policy")
_TAKEN = (*_PARTS, "type", "schedule", "payload_ref", "owner", "depends_on")
#: Answers have these only where the task has them.
_OPTIONAL = ("on_dependency_failure", "budget", "redact", "concurrency", "targets")


def renewed(document: Any) -> Any:
    """Return a schema with these parts of every task in it as the API answers them."""
    from api.tasks.schemas import TASK

    if isinstance(document, list):
        return [renewed(part) for part in document]
    if not isinstance(document, dict):
        return document
    found = {key: renewed(part) for key, part in document.items()}
    inside = found.get("properties")
    if isinstance(inside, dict) and inside.keys() >= {"schedule", *_PARTS}:
        inside |= {key: _without_defaults(TASK["properties"][key]) for key in (*_TAKEN, *_OPTIONAL)}
        found["required"] = list(dict.fromkeys([*found["required"], *_TAKEN]))
    return found


def _without_defaults(schema: Any) -> Any:
    # An answer leaves nothing out.
    if isinstance(schema, list):
        return [_without_defaults(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_defaults(part) for key, part in schema.items() if key != "default"}


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings_test")
    django.setup()
    for name in NAMES:
        path = FOLDER / f"{name}.json"
        schema = renewed(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
