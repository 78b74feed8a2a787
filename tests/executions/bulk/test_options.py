from __future__ import annotations

from typing import Any

import pytest

from executions.bulk.options import read_options, require_action
from shared.exceptions import InvalidInput, TooLarge


@pytest.mark.parametrize(
    ("kind", "action"), [("letters", "retry"), ("tasks", "retry"), ("dead_letters", "run")]
)
def test_unknown_actions_are_refused(kind: str, action: str):
    with pytest.raises(InvalidInput):
        require_action(kind, action)


def test_options_that_are_not_given_are_left_out():
    given = {"rate_per_second": None, "canary": 3, "payload": None}

    assert read_options("dead_letters", "retry", given) == {"canary": 3, "payload": None}
    assert read_options("tasks", "pause", given | {"canary": None}) == {}


def test_resolving_says_fixed_unless_told():
    assert read_options("dead_letters", "resolve", {}) == {"resolution": "fixed"}
    assert read_options("dead_letters", "resolve", {"resolution": "moot"})["resolution"] == "moot"


@pytest.mark.parametrize(
    ("action", "options", "pointer"),
    [
        ("retry", {"rate_per_second": 0}, "#/rate_per_second"),
        ("retry", {"rate_per_second": 1001}, "#/rate_per_second"),
        ("retry", {"rate_per_second": float("nan")}, "#/rate_per_second"),
        ("retry", {"rate_per_second": "1"}, "#/rate_per_second"),
        ("retry", {"rate_per_second": True}, "#/rate_per_second"),
        ("retry", {"canary": 0}, "#/canary"),
        ("retry", {"canary": 1.5}, "#/canary"),
        ("retry", {"stop_on_failure_rate": 1.1}, "#/stop_on_failure_rate"),
        ("retry", {"note": "x"}, "#/note"),
        ("retry", {"payload": float("inf")}, "#/payload"),
        ("archive", {"canary": 1}, "#/canary"),
        ("archive", {"note": "x" * 1001}, "#/note"),
        ("resolve", {"resolution": "retried"}, "#/resolution"),
        ("purge", {"speed": 1}, "#/speed"),
    ],
)
def test_wrong_options_are_refused(action: str, options: dict[str, Any], pointer: str):
    with pytest.raises(InvalidInput) as refused:
        read_options("dead_letters", action, options)

    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_a_payload_over_the_limit_is_refused():
    with pytest.raises(TooLarge):
        read_options("tasks", "run", {"payload": "x" * 300_000})
