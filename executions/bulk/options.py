"""The options of each bulk action, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from executions.bulk.scope import ACTIONS
from executions.bulk.setting import require_patch
from executions.dead_letters.letters import require_free_resolution
from shared.exceptions import FieldError, InvalidInput
from tasks.limits import current_limits
from tasks.payloads import check_payload_size, json_problem
from tasks.redirection import read_into

_MAKING = ("rate_per_second", "canary", "stop_on_failure_rate", "payload")
#: Option names by (kind, action); every other action takes only a rate.
_OPTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("dead_letters", "retry"): _MAKING,
    ("executions", "retry"): _MAKING,
    ("executions", "replay"): ("rate_per_second", "canary", "stop_on_failure_rate", "into"),
    ("tasks", "run"): _MAKING,
    ("dead_letters", "resolve"): ("rate_per_second", "resolution", "note"),
    ("dead_letters", "archive"): ("rate_per_second", "note"),
    ("tasks", "pause"): ("rate_per_second", "note"),
    ("tasks", "set"): ("rate_per_second", "set"),
}
#: Executions replayed per second by default, so that a range does not fire in one burst.
REPLAY_RATE = 10.0
_ONLY_RATE = ("rate_per_second",)
#: Lowest and highest value of the numbers.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "rate_per_second": (0.1, 1000.0),
    "canary": (1, 1_000_000),
    "stop_on_failure_rate": (0.0, 1.0),
}
_LENGTHS = {"resolution": 40, "note": 1000}


def require_action(kind: str, action: str) -> None:
    """Raise InvalidInput for an unknown kind, or an action that the kind does not have."""
    if kind not in ACTIONS:
        _refuse("#/kind", "invalid_choice", f"Give one of {', '.join(ACTIONS)}.")
    if action not in ACTIONS[kind]:
        _refuse("#/action", "invalid_choice", f"Give one of {', '.join(ACTIONS[kind])}.")


def read_options(kind: str, action: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given, ``payload`` also when it is null.

    Raise InvalidInput for an option that the action does not have or whose value is wrong,
    TooLarge for a payload over the limit.
    """
    allowed = _OPTIONS.get((kind, action), _ONLY_RATE)
    given = {
        name: value
        for name, value in options.items()
        if value is not None or (name == "payload" and "payload" in allowed)
    }
    for name, value in given.items():
        if name not in allowed:
            _refuse(f"#/{name}", "not_for_this_action", f"Not an option of {action!r}.")
        _judge(name, value)
    if action == "set":
        require_patch(given.get("set"))
    if action == "replay":
        if "into" in given:
            given["into"] = read_into(given["into"], current_limits())
        given.setdefault("rate_per_second", REPLAY_RATE)
    if action == "resolve":
        given.setdefault("resolution", "fixed")
        require_free_resolution(given["resolution"])
    return given


def _judge(name: str, value: Any) -> None:
    if name == "set":
        return  # read_options checks it, also when it is left out
    if name == "into":
        read_into(value, current_limits())
    elif name == "payload":
        problem = json_problem(value, "#/payload")
        if problem:
            _refuse(*problem)
        check_payload_size(value, current_limits().payload_bytes)
    elif name in _BOUNDS:
        low, high = _BOUNDS[name]
        whole = name == "canary" and not isinstance(value, int)
        if isinstance(value, bool) or whole or not isinstance(value, int | float):
            _refuse(f"#/{name}", "invalid_type", "Give a number.")
        if not low <= value <= high:
            _refuse(f"#/{name}", "out_of_range", f"Give a number from {low:g} to {high:g}.")
    elif not isinstance(value, str) or len(value) > _LENGTHS[name]:
        _refuse(f"#/{name}", "invalid", f"Give a text of at most {_LENGTHS[name]} characters.")


def _refuse(pointer: str, code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError(pointer, code, message)])
