"""The form of a task: from its fields to the API's long form, and back.

Validation has the rules, so the form accepts the same as the API. Parts of a definition that
the form does not show are taken unchanged from ``base``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dashboard.payload_form import pretty
from dashboard.task_form import retry as retries
from dashboard.task_form import schedule as schedules
from dashboard.task_form import target as targets
from dashboard.task_form.budget import read_budget, show_budget
from dashboard.task_form.schedule import UNITS
from dashboard.task_form.values import (
    Form,
    exact_text,
    judged,
    lines,
    read_number,
    read_pairs,
    read_payload,
    read_words,
    show_plain,
)
from dashboard.task_form.webhook import stored_secrets
from shared.exceptions import FieldError
from tasks.choices import CONCURRENCY_ORDERS, IN_ORDER, ON_DEPENDENCY_FAILURE, TARGETS

__all__ = [
    "EMPTY",
    "UNITS",
    "field_errors",
    "form_of",
    "given_fields",
    "judge_form",
    "judge_schedule",
    "read_form",
    "secrets_of",
]

Parsed = TypeVar("Parsed")

#: The fields of a new form.
EMPTY: Mapping[str, str] = {
    **schedules.EMPTY,
    **targets.EMPTY,
    **retries.EMPTY,
    "priority": "5",
    "on_dependency_failure": ON_DEPENDENCY_FAILURE[0],
    "concurrency_order": CONCURRENCY_ORDERS[0],
}
#: Pointer of an error -> field of the form, for every target; the longest match counts.
_FIELD_OF = {
    "#/name": "name",
    "#/schedule/words": "words",
    "#/schedule/cron_expression": "cron_expression",
    "#/schedule/every": "every_count",
    "#/schedule/run_at": "run_at",
    "#/schedule/delay_seconds": "delay_seconds",
    "#/schedule/start_at": "start_at",
    "#/schedule/end_at": "end_at",
    "#/schedule/calendars": "calendars",
    **{f"#/schedule/{name}": name for name in schedules.PLAIN},
    "#/target/kind": "kind",
    "#/payload": "payload",
    "#/payload_ref": "payload_ref",
    "#/owner": "owner",
    "#/priority": "priority",
    "#/labels": "labels",
    "#/depends_on": "depends_on",
    "#/on_dependency_failure": "on_dependency_failure",
    "#/redact": "redact",
    "#/budget": "budget",
    "#/concurrency/key": "concurrency_key",
    "#/concurrency/max": "concurrency_max",
    "#/concurrency/order": "concurrency_order",
    "#/targets/start_within_seconds": "start_within_seconds",
    "#/targets/max_duration_seconds": "max_duration_seconds",
    **{
        f"#/retry_policy/{name}": name
        for name in (*retries.PLAIN, *retries.WORDS, "delays_seconds")
    },
}
_RULES = "#/retry_policy/rules"
#: Fields with a name and a value in each line.
_NAMED_LINES = ("headers", "environment", "labels", "requires")


def field_errors(errors: Sequence[FieldError], kind: str = "webhook") -> dict[str, str]:
    """Return the first message of each field; messages without a field are under ``form``.

    A field with a name in each line has every message.
    """
    known = _fields_of(kind)
    found: dict[str, str] = {}
    for error in errors:
        fits = [at for at in known if (error.pointer + "/").startswith(at + "/")]
        field = known[max(fits, key=len)] if fits else "form"
        if (error.pointer + "/").startswith(_RULES + "/"):
            field = retries.rule_field(error.pointer)
        if field in _NAMED_LINES and field in found:
            found[field] = f"{found[field]} {error.message}"
        found.setdefault(field, error.message)
    return found


def read_form(fields: Mapping[str, str], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the body that the fields describe; raise InvalidInput for text that is no value.

    A field that still shows the value of ``base`` keeps it exactly: instants to the millisecond,
    the second 02:30 of the night of the clock change. Secrets are masked in ``base`` and in the
    returned body; validation takes them from the stored task.
    """
    return judge_form(fields, base, dict)


def judge_form(
    fields: Mapping[str, str], base: Mapping[str, Any] | None, parse: Callable[[Any], Parsed]
) -> Parsed:
    """Return the result of ``parse`` for the body that the fields describe.

    Raise InvalidInput with all errors: text that is no value, and the errors of ``parse`` in the
    other fields.
    """
    form = _form(fields, base)
    body: dict[str, Any] = copy.deepcopy(dict(form.base))
    for name in ("id", "type", "name"):
        body.pop(name, None)
    if name := form.text("name"):
        body["name"] = name
    body["schedule"] = schedules.read_schedule(form, body.get("schedule", {}))
    body["target"] = targets.read_target(form, body.get("target", {}))
    if not form.same("payload", "kind", "body_format"):
        body["payload"] = read_payload(form, is_raw=body["target"].get("body_format") == "raw")
    for name in ("payload_ref", "owner"):
        body[name] = exact_text(form, name, body.get(name)) or None
    body |= read_number(form, "priority", "#/priority", keep=False)
    if not form.same("labels"):
        body["labels"] = read_pairs(form, "labels", "=", "#/labels")
    if not form.same("redact"):
        paths = (line.strip() for line in lines(form.text("redact")))
        body["redact"] = [path for path in paths if path]
    body["retry_policy"] = retries.read_retry(form, body.get("retry_policy", {}))
    body["concurrency"] = _read_concurrency(form, body.get("concurrency"))
    body["targets"] = {
        name: value
        for key in TARGETS
        for name, value in read_number(form, key, f"#/targets/{key}").items()
    }
    if schedules.runs_once(body["schedule"]):
        body["depends_on"] = read_words(form, "depends_on")
        body["on_dependency_failure"] = form.text("on_dependency_failure", ON_DEPENDENCY_FAILURE[0])
        body.pop("budget", None)
    else:
        if not form.same("budget"):
            body["budget"] = read_budget(form)
        body["depends_on"] = []
        body.pop("on_dependency_failure", None)
    return judged(form, body, parse)


def _read_concurrency(form: Form, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    key = exact_text(form, "concurrency_key", before["key"] if before else None)
    if not key:
        return None
    most = read_number(form, "concurrency_max", "#/concurrency/max", keep=False)
    order = form.text("concurrency_order", CONCURRENCY_ORDERS[0])
    return {
        "key": key,
        "order": order,
        **({} if order == IN_ORDER else {"max": (most or {}).get("concurrency_max", 1)}),
    }


def judge_schedule(
    fields: Mapping[str, str], base: Mapping[str, Any] | None, parse: Callable[[Any], Parsed]
) -> Parsed:
    """Return the same of only the schedule of the form, for a preview."""
    form = _form(fields, base)
    schedule = schedules.read_schedule(form, form.base.get("schedule", {}))
    return judged(form, {"schedule": schedule}, parse)


def given_fields(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that a partial definition sets."""
    shown = form_of(definition)
    found: dict[str, str] = {}
    for pointer, name in _fields_of(definition.get("target", {}).get("kind", "webhook")).items():
        *parents, last = pointer.removeprefix("#/").split("/")
        part: Any = definition
        for parent in parents:
            part = part.get(parent) or {}
        if part.get(last) is not None and name in shown:
            found[name] = shown[name]
    if "schedule" in definition:
        found |= {name: shown[name] for name in ("when", "every_unit")}
    return found


def form_of(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that show a definition in the long form, or as much of it as is given."""
    target = definition.get("target", {})
    fields = {**EMPTY, **schedules.show_schedule(definition.get("schedule", {}))}
    fields |= targets.show_target(target)
    fields |= retries.show_retry(definition.get("retry_policy", {}))
    fields |= {"name": definition.get("name", ""), "url": fields.get("url", "")}
    if definition.get("priority") is not None:
        fields["priority"] = show_plain(definition["priority"])
    fields["labels"] = "\n".join(f"{k}={v}" for k, v in definition.get("labels", {}).items())
    fields |= {name: definition.get(name) or "" for name in ("payload_ref", "owner")}
    fields["budget"] = show_budget(definition.get("budget") or ())
    fields["depends_on"] = "\n".join(definition.get("depends_on", ()))
    fields["redact"] = "\n".join(definition.get("redact", ()))
    if chosen := definition.get("on_dependency_failure"):
        fields["on_dependency_failure"] = chosen
    if shared := definition.get("concurrency"):
        fields |= {f"concurrency_{name}": show_plain(value) for name, value in shared.items()}
    fields |= {name: show_plain(value) for name, value in _targets_of(definition) if value}
    payload = definition.get("payload")
    is_raw = target.get("body_format") == "raw" and isinstance(payload, str)
    fields["payload"] = "" if payload is None else payload if is_raw else pretty(payload)
    return fields


def _targets_of(definition: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return (definition.get("targets") or {}).items()


def secrets_of(definition: Mapping[str, Any] | None) -> list[str]:
    """Return the fields whose secret the definition holds; they are shown empty."""
    return stored_secrets((definition or {}).get("target", {}))


def _fields_of(kind: str) -> dict[str, str]:
    return {**_FIELD_OF, **{f"#/target/{at}": to for at, to in targets.FIELD_OF[kind].items()}}


def _form(fields: Mapping[str, str], base: Mapping[str, Any] | None) -> Form:
    return Form(fields, form_of(base) if base else {}, dict(base or {}), [])
