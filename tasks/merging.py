"""Merges an edit into a definition's long form: RFC 7396, and its consequences for a task.

A merge patch alone would leave the old alternative beside the new one (a cron expression beside
a duration) and two spellings of one header; here the edit's wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.choices import IN_ORDER, TIMING_FIELDS, TaskType
from tasks.definition import ONE_TIME_SCHEDULE_DEFAULTS, RECURRING_SCHEDULE_DEFAULTS

#: Each replaces the other.
_PAYLOADS = ("payload", "payload_ref")


def merge_edit(current: dict[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the long form with the edit merged in; neither argument is changed.

    ``current`` is as answers show it, its secrets masked: a mask in the result is a kept secret.
    """
    base = dict(current)
    base["schedule"] = _schedule_to_merge(base["schedule"], edit)
    base["target"] = _target_to_merge(base["target"], edit.get("target"))
    base["retry_policy"] = _policy_to_merge(base["retry_policy"], edit.get("retry_policy"))
    base = _payload_to_merge(base, edit)
    base = _concurrency_to_merge(base, edit.get("concurrency"))
    merged = dict(merge_patch(base, edit))
    if "target" in merged:
        merged["target"] = _with_whole_json(merged["target"], edit.get("target"))
    return merged


def merge_patch(value: Any, patch: Any) -> Any:
    """Return the value after the JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), change)
    return merged


def _concurrency_to_merge(base: dict[str, Any], change: Any) -> dict[str, Any]:
    """Return the base without a number that strict order replaces: it has none."""
    if not isinstance(change, Mapping) or change.get("order") != IN_ORDER:
        return base
    if not base.get("concurrency"):
        return base
    return {**base, "concurrency": {**base["concurrency"], "max": 1}}


def _schedule_to_merge(schedule: dict[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    change = edit.get("schedule")
    change = change if isinstance(change, Mapping) else {}
    dropped: set[str] = set()
    if any(change.get(key) is not None for key in TIMING_FIELDS):
        dropped.update(TIMING_FIELDS)
    if edit.get("type") == TaskType.ONE_TIME:
        dropped.update(RECURRING_SCHEDULE_DEFAULTS.keys() - ONE_TIME_SCHEDULE_DEFAULTS.keys())
    elif edit.get("type") == TaskType.RECURRING:
        dropped.add("run_at")
    return {key: value for key, value in schedule.items() if key not in dropped}


def _target_to_merge(target: dict[str, Any], change: Any) -> dict[str, Any]:
    """Return the part of the target that the change is merged into."""
    if not isinstance(change, Mapping):
        return target
    if "kind" in change and (change["kind"] or "webhook") != target["kind"]:
        # The fields of one kind have no meaning in another.
        return {}
    kept = dict(target)
    if isinstance(change.get("headers"), Mapping) and "headers" in kept:
        edited = {str(name).lower() for name in change["headers"]}
        headers = target["headers"].items()
        kept["headers"] = {name: text for name, text in headers if name.lower() not in edited}
    if _other_type(target.get("auth"), change.get("auth")):
        del kept["auth"]
    if change.get("completion") == "response":
        kept.pop("max_runtime_seconds", None)
    return kept


def _other_type(auth: Any, change: Any) -> bool:
    if not isinstance(auth, Mapping) or not isinstance(change, Mapping):
        return False
    return bool(change.get("type", auth["type"]) != auth["type"])


def _with_whole_json(target: Any, change: Any) -> Any:
    """Return the target with the change's JSON criterion as it is: its null is a value."""
    success = change.get("success") if isinstance(change, Mapping) else None
    if not isinstance(success, Mapping) or not isinstance(success.get("json"), Mapping):
        return target
    return {**target, "success": {**target["success"], "json": success["json"]}}


def _payload_to_merge(base: dict[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base without the payload or reference that the edit replaces."""
    given = [key for key in _PAYLOADS if edit.get(key) is not None]
    if len(given) != 1:
        return base
    [replaced] = set(_PAYLOADS) - set(given)
    return {key: value for key, value in base.items() if key != replaced}


def _policy_to_merge(policy: dict[str, Any], change: Any) -> dict[str, Any]:
    if isinstance(change, Mapping) and change.get("backoff", "listed") != "listed":
        return {key: value for key, value in policy.items() if key != "delays_seconds"}
    return policy
