"""The schemas of what ``manage.py workflows`` prints: workflows are those of the API.

``python -m tests.support.workflow_documents`` writes them again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_MOMENT: Schema = {"type": ["string", "null"], "format": "date-time"}
_COUNTS: Schema = {"type": "object", "additionalProperties": _COUNT}
#: Only workflows that no key opens, or that mask fields, have them.
_OPTIONAL = ("missing", "redact", "targets")


def documents() -> dict[str, Schema]:
    """Return each schema by the name of its verb."""
    from api.workflows.serializers import (
        COMPENSATION_STATUSES,
        RUN_STATUSES,
        STEP_STATUSES,
        WAITS_FOR,
    )
    from insight.run_waits import KINDS

    summary = _run(RUN_STATUSES, KINDS)
    step = _step(STEP_STATUSES, WAITS_FOR, COMPENSATION_STATUSES)
    steps: Schema = {"type": "array", "items": step}
    return {
        **_of_workflows(),
        **_of_runs(summary, steps),
        **_of_changes(RUN_STATUSES),
        **_of_decisions({**summary, "steps": steps}),
    }


def _of_workflows() -> dict[str, Schema]:
    from api.workflows.schemas import WORKFLOW

    shown = _plain(WORKFLOW)
    fields = {**shown["properties"], "tenant_id": _ID}
    required = [*shown["required"], "tenant_id"]
    workflow = _closed(fields, *required)
    planned = _closed({**fields, "id": _nullable(_ID)}, *required)
    return {
        "list": _document(
            "Workflows, newest first, and how many the filters leave.",
            {"workflows": {"type": "array", "items": workflow}, "total": _COUNT},
        ),
        "show": _document("One workflow with its steps.", fields, _OPTIONAL),
        "create": _document(
            "The workflow that was created, or would be.",
            {"dry_run": _FLAG, "workflow": planned},
        ),
        "edit": _document(
            "What an edit changed, or would change, of a workflow.",
            {"dry_run": _FLAG, "changes": _changes(), "workflow": workflow},
        ),
        "delete": _results("What became of each workflow to be deleted.", _deleted()),
    }


def _of_runs(summary: Schema, steps: Schema) -> dict[str, Schema]:
    listed = _closed(summary, *_without(summary, "missing"))
    return {
        "run": _document("The run that was started.", {**summary, "steps": steps}, ["missing"]),
        "runs": _document(
            "Runs of a workflow, newest first.",
            {"runs": {"type": "array", "items": listed}, "since": _MOMENT, "more": _FLAG},
        ),
        "status": _document(
            "A run with every step, and the items of one where they were asked for.",
            {**summary, "steps": steps, "items": steps},
            ["missing", "items"],
        ),
    }


def _of_changes(statuses: Any) -> dict[str, Schema]:
    facts = {
        "workflow_id": _ID,
        "take": {"type": "integer", "minimum": 1},
        "status": {"enum": list(statuses)},
        "reason": _nullable(_TEXT),
    }
    done = {"cancel": "cancelled", "pause": "paused", "resume": "resumed", "retry": "retried"}
    return {
        verb: _results(f"What became of each run to be {word}.", facts)
        for verb, word in done.items()
    }


def _of_decisions(run: Schema) -> dict[str, Schema]:
    done = {
        "skip": "skipped",
        "succeed": "marked as succeeded",
        "approve": "approved or refused",
    }
    sent = {
        "id": _ID,
        "tenant_id": _ID,
        "name": _TEXT,
        "correlation": _TEXT,
        "released": _COUNT,
    }
    return {
        **{
            verb: _document(f"The run after one of its steps was {word}.", run, ["missing"])
            for verb, word in done.items()
        },
        "signal": _document("The event that was sent, and how many steps waited for it.", sent),
    }


def files() -> dict[str, Schema]:
    """Return each schema by the name of its file."""
    return {
        f"workflows-{verb}": {"$schema": _DRAFT, "title": f"workflows {verb}", **schema}
        for verb, schema in documents().items()
    }


def _run(statuses: Any, kinds: Any) -> Schema:
    count = {"type": ["integer", "null"], "minimum": 0}
    wait = {
        "kind": {"enum": list(kinds)},
        "step": _nullable(_TEXT),
        "until": _MOMENT,
        "done": count,
        "total": count,
    }
    return {
        "id": _ID,
        "take": {"type": "integer", "minimum": 1},
        "execution_id": _ID,
        "workflow_id": _ID,
        "workflow_version": {"type": "integer", "minimum": 1},
        "status": {"enum": list(statuses)},
        "reason": _nullable(_TEXT),
        "input": {"description": "Any JSON."},
        "scheduled_for": {"type": "string", "format": "date-time"},
        "started_at": _MOMENT,
        "finished_at": _MOMENT,
        "counts": _COUNTS,
        "waiting_for": {"type": "array", "items": _closed(wait, *wait)},
        "missing": _TEXT,
        "tenant_id": _ID,
    }


def _step(statuses: Any, kinds: Any, undone: Any) -> Schema:
    error = _closed({"code": _TEXT, "message": _TEXT}, "code", "message")
    wait = _closed(
        {
            "kind": {"enum": list(kinds)},
            "until": _MOMENT,
            "event": _TEXT,
            "correlation": _TEXT,
            "take": {"type": "integer", "minimum": 1},
        },
        *("kind", "until"),
    )
    undo = {
        "status": {"enum": list(undone)},
        "execution_id": _nullable(_ID),
        "started_at": _MOMENT,
        "finished_at": _MOMENT,
        "error": {"anyOf": [error, {"type": "null"}]},
    }
    step = {
        "key": _TEXT,
        "item": {"type": ["integer", "null"], "minimum": 0},
        "status": {"enum": list(statuses)},
        "reason": _nullable(_TEXT),
        "execution_id": _nullable(_ID),
        "attempt": {"type": ["integer", "null"], "minimum": 0},
        "started_at": _MOMENT,
        "finished_at": _MOMENT,
        "output": {"description": "Any JSON."},
        "error": {"anyOf": [error, {"type": "null"}]},
        "waiting_for": {"anyOf": [wait, {"type": "null"}]},
        "counts": {"anyOf": [_COUNTS, {"type": "null"}]},
        "compensation": {"anyOf": [_closed(undo, *undo), {"type": "null"}]},
    }
    return _closed(step, *step)


def _deleted() -> Schema:
    from tasks.choices import TaskStatus

    return {"name": _TEXT, "status": {"enum": [*TaskStatus.values, "DELETED"]}}


def _changes() -> Schema:
    any_json: Schema = {"description": "Any JSON."}
    change = {"path": _TEXT, "before": any_json, "after": any_json}
    return {"type": "array", "items": _closed(change, *change)}


def _results(description: str, facts: Schema) -> Schema:
    error = _closed({"code": _TEXT, "message": _TEXT}, "code", "message")
    result = {
        "id": _TEXT,
        "ok": _FLAG,
        "error": {"anyOf": [error, {"type": "null"}]},
        **facts,
    }
    return _document(
        description,
        {
            "dry_run": _FLAG,
            "done": _COUNT,
            "failed": _COUNT,
            "results": {"type": "array", "items": _closed(result, "id", "ok", "error")},
        },
    )


def _document(description: str, fields: Schema, optional: Any = ()) -> Schema:
    whole = {"schema": {"const": 1}, **fields}
    return {"description": description, **_closed(whole, *_without(whole, *optional))}


def _closed(fields: Schema, *required: str) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": fields,
    }


def _without(fields: Schema, *names: str) -> list[str]:
    return [name for name in fields if name not in names]


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _plain(schema: Any) -> Any:
    """Return a schema of the API without defaults: an answer leaves nothing out."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _plain(part) for key, part in schema.items() if key != "default"}


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings_test")
    django.setup()
    for name, schema in files().items():
        path = FOLDER / f"{name}.json"
        path.write_text(json.dumps(schema, indent=2) + "\n", encoding="utf-8")
