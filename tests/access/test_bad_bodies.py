"""Every call of the API that takes a body, with bodies that no client should send.

Texts that are no JSON, and the call's own body with each part of it, and each field that the
document knows, replaced by values of other types. What is refused is a documented problem that
names the place, and stores nothing; nothing is a server error.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.access.operations import OPERATIONS, Operation
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, undone
from tests.support.hostile_json import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

#: In place of a value: other types, other signs, too long, and what no column keeps.
_WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    2**63,
    "",
    "\x01\ufffe",
    "é" * 5000,
    "{{ steps.a.output }}",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"unknown": {"unknown": 1}},
)
#: Workflows of every kind of step, so that each field of a step is tried.
_RICH: dict[str, Any] = {
    "create_workflow": {
        "name": "rich",
        "steps": [
            {
                "key": "a",
                "target": {"kind": "webhook", "url": "https://example.com/", "method": "POST"},
                "payload": {"x": "{{ input.n }}"},
                "retry_policy": {"max_attempts": 2},
                "timeout_seconds": 10,
                "compensate": {"target": {"url": "https://example.com/undo"}},
            },
            {
                "key": "b",
                "depends_on": ["a"],
                "when": "steps.a.output.n > 1",
                "for_each": "{{ steps.a.output.list }}",
                "max_parallel": 2,
                "min_success_share": 0.5,
                "target": {"url": "https://example.com/b"},
                "payload": {"item": "{{ item }}"},
            },
            {"key": "c", "kind": "delay", "delay_seconds": 1, "depends_on": ["b"]},
            {
                "key": "d",
                "kind": "wait_for_event",
                "event": "paid",
                "correlation": "{{ input.n }}",
                "timeout_seconds": 3600,
            },
            {
                "key": "e",
                "kind": "approval",
                "condition": "all_done",
                "depends_on": ["c", "d"],
                "deadline_seconds": 7200,
            },
        ],
        "schedule": {"cron_expression": "0 2 * * *", "timezone": "Europe/Berlin"},
        "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "on_failure": "compensate",
        "labels": {"team": "a"},
    }
}
_RICH["replace_workflow"] = _RICH["create_workflow"]
#: What a client is told of a body.
_CHECKED = {400, 404, 409, 412, 413, 415, 422}
_BODIES = [
    one
    for number, one in enumerate(OPERATIONS)
    if one.body is not None
    and one.name not in {other.name for other in OPERATIONS[:number]}
    # Refused to every key here; its bodies are tested with its answers.
    and not one.of_operators
]


@pytest.mark.parametrize("operation", _BODIES, ids=lambda one: one.name)
def test_a_body_that_is_wrong_is_refused_with_its_place_and_stores_nothing(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
) -> None:
    caller = callers["an owner's key"]
    method, template = operation.call.split()
    with undone():
        good = orjson.dumps(_good(world, caller, operation))
        answer = caller.client.call(method, world.path(template), good, idempotency_key="good")
        assert answer.status_code < 400, answer.content
    refused = 0
    for number, (sent, code) in enumerate(_bodies(world, caller, operation)):
        said = f"{sent[:300]!r}"
        with undone():
            answer = caller.client.call(
                method, world.path(template), sent, idempotency_key=f"bad-{number}"
            )
            assert answer.status_code < 500, f"{said}: {answer.content!r}"
            if answer.status_code < 400:
                assert code is None, said
                continue
            refused += 1
            problem = answer.json()
            assert str(answer.status_code) in _documented(operation.name), (said, problem)
            assert answer.status_code in _CHECKED, (said, problem)
            errors = problem.get("errors", ())
            if answer.status_code != 413:
                assert code in (None, *(error["code"] for error in errors)), (said, problem)
            for error in errors:
                assert error["pointer"].startswith("#"), (said, problem)
                assert error["message"], (said, problem)
            assert set(stored.changed()) <= {"tenants.IdempotencyRecord"}, said
    assert refused >= len(HOSTILE)


def _good(world: World, caller: Caller, operation: Operation) -> dict[str, Any]:
    """Return a body that is accepted, with many fields where the call has them."""
    return {**operation.filled(world, caller), **_RICH.get(operation.name, {})}


def _bodies(
    world: World, caller: Caller, operation: Operation
) -> Iterator[tuple[bytes, str | None]]:
    """Yield bodies with the code that refuses them, None where a valid one may be among them."""
    yield from HOSTILE.values()
    good = _good(world, caller, operation)
    yield orjson.dumps({**good, "unknown_field": 1}), None
    for name in sorted(_fields(operation.name) - set(good)):
        for value in _WRONG:
            yield orjson.dumps({**good, name: value}), None
    for path in _paths(good):
        for value in _WRONG:
            yield orjson.dumps(_replaced(good, path, value)), None


def _paths(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a value."""
    if before:
        yield before
    if isinstance(value, dict):
        for name in value:
            yield from _paths(value[name], *before, name)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _paths(part, *before, index)


def _replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    made = copy.deepcopy(value)
    place = made
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = by
    return made


@cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


@cache
def _call(name: str) -> dict[str, Any]:
    [found] = [
        one
        for calls in _document()["paths"].values()
        for one in calls.values()
        if one["operationId"] == name
    ]
    return dict(found)


@cache
def _documented(name: str) -> frozenset[str]:
    return frozenset(_call(name)["responses"])


@cache
def _fields(name: str) -> frozenset[str]:
    """Return the fields that the document knows at the top of a call's body."""
    schema = _call(name)["requestBody"]["content"]["application/json"]["schema"]
    while "$ref" in schema:
        schema = _document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return frozenset(schema.get("properties", ()))
