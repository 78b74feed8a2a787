"""Each number that is shown has an entry of the catalogue, and each entry a test that recounts it.

What is no count stands in ``ECHOED`` with the reason: it was written, or names its row.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from insight.numbers import NUMBERS
from tests.architecture import tree
from tests.recount.pictures import PICTURES
from tests.recount.recounts import MOVING, RECOUNTS
from tests.recount.right import RECOUNTED
from tests.support.syntax import parse

_SCHEMAS = tree.REPOSITORY / "docs" / "reference" / "command-schemas"
_NAMED = re.compile(r'data-numbers?="([^"]+)"')
#: Component -> the component that it adds to.
_ADDS_TO = {
    "AlertDetail": "Alert",
    "BulkJobDetail": "BulkJob",
    "ExecutionDetail": "Execution",
    "Run": "RunSummary",
    "SecretSummary": "Secret",
    "UsageDay": "UsageFigures",
}
#: Reason -> fields of the API, ``Component.field``.
ECHOED: dict[str, tuple[str, ...]] = {
    "a definition, a limit or a setting as it was written": (
        *("Task.*", "TaskDetail.*", "Workflow.*", "*.max_in_flight", "*.rate_per_second"),
        *("LimitsOfMe.*", "TenantOfMe.*", "*.weekend", "*.max_attempts", "*.max_parallel"),
        *(
            "Quota.limit",
            "SpreadPlan.jitter_seconds",
            "SharesAnswer.weight",
            "SharesAnswer.minutes",
        ),
        *("Pagination.limit", "Pagination.page", "*Pagination.limit", "*.bucket_bounds_ms"),
        *("Rule.threshold", "Rule.window_seconds", "Channel.after_seconds", "Objective.target"),
        *("Window.weekdays", "Preference.digest_minutes", "TargetFigures.seconds"),
        "ObjectivesAnswer.window_days",
    ),
    "names a row, a version or a place": (
        *("*.version", "*.workflow_version", "*.generation", "AuditEntry.sequence", "Member.id"),
        *("*.member", "BulkJobResult.position", "BulkResult.index", "RunStep.item", "Partition.*"),
        *("Lease.*", "EndingAnswer.attempt", "*.line", "Alert.assignee"),
    ),
    "of one attempt, as its receiver or worker told": (
        *("*.response_status", "CapturedResponse.status", "ReceivedRequest.status", "Timings.*"),
        *("Attempt.cost", "AttemptOfLetter.cost", "EventSubscription.last_status"),
        *("ChannelTest.status", "EventTest.status"),
    ),
    "of one refused call": ("Problem.*", "BulkResult.status"),
    "what an import would add, by the report that the calendar keeps": ("ImportedDays.*",),
}
#: Reason -> fields of commands, ``command-verb path``.
ECHOED_BY_COMMANDS: dict[str, tuple[str, ...]] = {
    "names a process, or a moment": ("* *pid", "ps processes.started_at"),
    "a limit as it was written": ("tenant-quotas own.*",),
    "of one attempt": ("* timings.*", "tasks-test *", "* *cost.*"),
}


@cache
def components() -> dict[str, Any]:
    """Return the components of the OpenAPI document that answers lead to."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    known = document["components"]["schemas"]
    found: dict[str, Any] = {}
    answers = [
        operation.get("responses", {})
        for path in document["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
    ]
    open_names = list(_references(answers))
    while open_names:
        name = open_names.pop()
        if name not in found:
            found[name] = known[name]
            open_names += _references(known[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def places(schema: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each number in a schema; elements of lists have the path of the list."""
    if not isinstance(schema, dict):
        return
    kinds = schema.get("type")
    if {"integer", "number"} & set(kinds if isinstance(kinds, list) else [kinds]):
        yield at
    for name, part in schema.get("properties", {}).items():
        yield from places(part, (*at, name))
    yield from places(schema.get("items"), at)
    yield from places(schema.get("additionalProperties"), (*at, "*"))
    for kind in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(kind, []):
            yield from places(part, at)


def numbers_of_answers() -> set[str]:
    return {
        f"{name}.{'.'.join(part for part in place if part != '*')}"
        for component, schema in components().items()
        for name in [_ADDS_TO.get(component, component)]
        for place in places(schema)
        if place
    }


def numbers_of_commands() -> set[str]:
    return {
        f"{file.stem} {'.'.join(place)}"
        for file in sorted(_SCHEMAS.glob("*.json"))
        for place in places(resolved(json.loads(file.read_text(encoding="utf-8"))))
    }


def resolved(schema: Any, root: Any = None) -> Any:
    """Return a schema of a command with its own definitions in their places, each once deep."""
    root = schema if root is None else root
    if isinstance(schema, list):
        return [resolved(part, root) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        found = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return resolved({key: value for key, value in found.items() if key != "$defs"}, root)
    return {key: resolved(value, root) for key, value in schema.items() if key != "$defs"}


def marks() -> set[str]:
    """Return the numbers that tests say to recount, by their marks."""
    found: set[str] = set()
    for path in (tree.REPOSITORY / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "@recounts(" in text:
            found |= set(marks_in(text))
    return found


def marks_in(text: str) -> Iterator[str]:
    for node in ast.walk(parse(text)):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "recounts":
                yield from (
                    str(one.value) for one in ast.walk(mark) if isinstance(one, ast.Constant)
                )


def pages() -> set[str]:
    """Return the names of numbers in the templates; one that a view completes is left out."""
    texts = (path.read_text("utf-8") for path in (tree.REPOSITORY / "templates").rglob("*.html"))
    return {name for text in texts for name in _NAMED.findall(text) if "{{" not in name}


def unknown(shown: set[str], known: set[str], echoed: dict[str, tuple[str, ...]]) -> list[str]:
    patterns = [*known, *(one for some in echoed.values() for one in some)]
    return sorted(
        one for one in shown if not any(fnmatchcase(one, pattern) for pattern in patterns)
    )


def test_every_number_of_an_answer_has_an_entry():
    known = {place for one in NUMBERS.values() for place in one.answers}

    assert unknown(numbers_of_answers(), known, ECHOED) == []


def test_every_number_of_a_command_has_an_entry():
    known = {place for one in NUMBERS.values() for place in one.commands}
    # Commands print the API's answers, alone or in lists, under the same names.
    answers = {place.rpartition(".")[2] for place in numbers_of_answers()}
    shown = {one for one in numbers_of_commands() if field_of(one) not in answers}

    assert unknown(shown, known, ECHOED_BY_COMMANDS) == []


def field_of(place: str) -> str:
    """Return the name of a command's field, of a count by any key that of the counts."""
    return place.removesuffix(".*").rpartition(".")[2].rpartition(" ")[2]


def test_every_named_number_of_a_page_has_an_entry():
    known = {place for one in NUMBERS.values() for place in one.pages}

    assert pages() - known == set()


def test_every_entry_names_what_is_there():
    answers, commands = numbers_of_answers(), numbers_of_commands()
    shown = pages() | set(PICTURES)
    gone = [
        f"{one.name}: {place}"
        for one in NUMBERS.values()
        for found, places_of_it in (
            (answers, one.answers),
            (commands, one.commands),
            (shown | set(RECOUNTS) | set(MOVING), one.pages),
        )
        for place in places_of_it
        if not place.startswith("history.") and not any(fnmatchcase(each, place) for each in found)
    ]

    assert gone == []


def test_every_entry_is_recounted_by_a_test():
    recounted = marks() | {name for one in RECOUNTED.values() for name in one.numbers}
    judged = set(RECOUNTS) | set(MOVING) | set(PICTURES)

    assert (
        sorted(
            one.name
            for one in NUMBERS.values()
            if one.name not in recounted and not (one.pages and set(one.pages) <= judged)
        )
        == []
    )


def test_a_mark_is_read_from_the_text():
    text = '@recounts("a.b", *("c.d",))\ndef test_one():\n    pass\n'

    assert set(marks_in(text)) == {"a.b", "c.d"}
    assert not set(marks_in(text.replace("test_one", "one")))


def test_a_number_without_an_entry_is_found():
    schema = {
        "properties": {"rows": {"items": {"properties": {"n": {"type": ["integer", "null"]}}}}}
    }

    assert list(places(schema)) == [("rows", "n")]
    assert unknown({"X.n", "X.m"}, {"X.m"}, {"written": ("Y.*",)}) == ["X.n"]
