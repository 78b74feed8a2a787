"""The retry policy in the task's form: attempts, waits between them, and failures without retry.

``form`` reads and shows it with the other parts. Rules are rows of three fields. An empty row is no
rule, so emptying a row removes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dashboard.task_form.values import Form, exact_text, read_number, read_words, show_plain
from tasks.definition import RETRY_DEFAULTS

#: The fields of a new form.
EMPTY: Mapping[str, str] = {
    "max_attempts": "5",
    "backoff": "exponential",
    "initial_delay_seconds": "1",
    "factor": "2",
    "max_delay_seconds": "3600",
    "jitter": "full",
    "retry_on": ", ".join(RETRY_DEFAULTS["retry_on"]),
}
#: Fields that show a value of the policy as it is.
PLAIN = (
    "max_attempts",
    "backoff",
    "initial_delay_seconds",
    "factor",
    "max_delay_seconds",
    "jitter",
    "stop_header",
    "max_age_seconds",
    "pause_after_failures",
)
WORDS = ("retry_on", "stop_on")
#: Empty rows that a form adds.
_SPARE_ROWS = 2
_ROW = re.compile(r"rule_([0-9]{1,2})_statuses")
_PARTS = ("statuses", "max_attempts", "delay_seconds")


def show_retry(policy: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that show a policy, or as much of it as is given."""
    given = {name: policy[name] for name in PLAIN if policy.get(name) is not None}
    shown = {**EMPTY, **{name: show_plain(value) for name, value in given.items()}}
    shown |= {name: ", ".join(policy[name]) for name in WORDS if policy.get(name) is not None}
    delays = policy.get("delays_seconds") or []
    shown["delays_seconds"] = ", ".join(show_plain(one) for one in delays)
    for place, rule in enumerate(policy.get("rules") or []):
        shown[f"rule_{place}_statuses"] = ", ".join(rule.get("statuses") or [])
        for part in _PARTS[1:]:
            value = rule.get(part)
            shown[f"rule_{place}_{part}"] = "" if value is None else show_plain(value)
    return shown


def read_retry(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy that the form describes; errors are noted in the form."""
    policy = {name: value for name, value in base.items() if name != "delays_seconds"}
    policy |= _number(form, "max_attempts")
    policy |= _number(form, "max_age_seconds", keep=True)
    policy |= _number(form, "pause_after_failures", keep=True)
    policy["backoff"] = form.text("backoff", EMPTY["backoff"])
    policy["jitter"] = form.text("jitter", EMPTY["jitter"])
    policy |= {name: read_words(form, name) for name in WORDS}
    policy["stop_header"] = exact_text(form, "stop_header", base.get("stop_header")) or None
    policy["rules"] = _read_rules(form)
    if policy["backoff"] == "listed":
        return policy | {"delays_seconds": _read_delays(form)}
    names = ("initial_delay_seconds", "factor", "max_delay_seconds")
    for name in names if policy["backoff"] == "exponential" else names[:1]:
        policy |= _number(form, name)
    return policy


def rule_rows(fields: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the rows of the form without those that are empty, and some to add to."""
    rows = [
        {part: fields.get(f"rule_{place}_{part}", "") for part in _PARTS}
        for place in _places(fields)
    ]
    return rows + [dict.fromkeys(_PARTS, "") for _ in range(_SPARE_ROWS)]


def rule_field(pointer: str) -> str:
    """Return the field of an error within the rules: ``#/retry_policy/rules/0/statuses``."""
    parts = pointer.removeprefix("#/retry_policy/rules").strip("/").split("/")
    if not parts[0].isdecimal():
        return "rule_0_statuses"
    part = parts[1] if len(parts) > 1 and parts[1] in _PARTS else "statuses"
    return f"rule_{parts[0]}_{part}"


def _places(fields: Mapping[str, str]) -> list[int]:
    """Return the numbers of the rows in which something stands."""
    found = [int(match[1]) for name in fields if (match := _ROW.fullmatch(name))]
    return [
        place
        for place in sorted(found)
        if any(fields.get(f"rule_{place}_{part}", "").strip() for part in _PARTS)
    ]


def _read_rules(form: Form) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = []
    for place in _places(form.fields):
        at = f"#/retry_policy/rules/{len(rules)}"
        rule: dict[str, Any] = {"statuses": read_words(form, f"rule_{place}_statuses")}
        for part in _PARTS[1:]:
            number = read_number(form, f"rule_{place}_{part}", f"{at}/{part}")
            rule[part] = next(iter(number.values()), None)
        rules.append(rule)
    return rules


def _read_delays(form: Form) -> list[Any]:
    found: list[Any] = []
    for word in read_words(form, "delays_seconds"):
        one = Form({"delay": word}, {}, {}, form.errors)
        found += read_number(one, "delay", "#/retry_policy/delays_seconds", keep=False).values()
    return found


def _number(form: Form, name: str, *, keep: bool = False) -> dict[str, Any]:
    return read_number(form, name, f"#/retry_policy/{name}", keep=keep)
