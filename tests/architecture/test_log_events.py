"""Every log call names an event of the catalogue, with its level and exactly its fields."""

from __future__ import annotations

import ast
import logging
import re

import pytest

from shared.log_events import EVENTS, LIBRARY
from tests.architecture import tree
from tests.architecture.rules import log_events
from tests.support.syntax import parse

CATALOGUE = {one.name: (one.level, frozenset(one.fields), one.traceback) for one in EVENTS.values()}
#: The logger of the functions that a deployment brings; its lines are captured with the run.
_OF_HANDLERS = {"worker/handlers/context.py"}


def _calls() -> dict[str, list[log_events.Call]]:
    return {
        module.path: log_events.calls(module.source)
        for module in tree.production()
        if module.path not in _OF_HANDLERS
    }


def test_every_call_is_as_the_catalogue_says():
    found = tree.breaches(tree.production(), lambda text: log_events.breaches(text, CATALOGUE))

    assert not found, tree.report(found)


def test_every_event_of_the_catalogue_is_logged():
    logged = {call.event for calls in _calls().values() for call in calls}

    assert logged | {LIBRARY} == set(EVENTS)


def test_every_event_is_looked_at_by_a_test():
    named = {
        node.value
        for path in (tree.REPOSITORY / "tests").rglob("test_*.py")
        if path.name != "test_log_events.py"
        for node in ast.walk(parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    # A test that causes a line has the mark ``logs``.
    assert set(EVENTS) - named == set()


def test_no_field_has_a_name_that_records_have_themselves():
    reserved = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}

    assert not [one.name for one in EVENTS.values() if reserved & set(one.fields)]


def test_no_module_logs_in_another_way():
    # A call that the rule does not see is a line without an event.
    unseen = re.compile(
        r"structlog\.get_logger|getLogger\([^)]*\)\.|get_task_logger|\.log\(logging"
    )

    found = [
        module.path
        for module in tree.production()
        if unseen.search(module.source)
        and module.path not in {"shared/logs.py", "shared/log_output.py"}
    ]

    assert not found


@pytest.mark.parametrize(
    "text",
    [
        'log.warning("a.b", extra={"x": 1})',
        'def f():\n    facts = {"x": 1}\n    log.warning("a.b", extra=facts)',
        'def g():\n    return {"x": 1}\ndef f():\n    log.warning("a.b", extra={**g()})',
    ],
)
def test_fields_are_read_from_the_text(text: str):
    assert not log_events.breaches(text, {"a.b": ("warning", frozenset({"x"}), False)})


@pytest.mark.parametrize(
    "text",
    [
        'log.warning("c.d", extra={"x": 1})',
        'log.info("a.b", extra={"x": 1})',
        'log.warning("a.b", extra={"x": 1, "y": 2})',
        'log.warning("a.b")',
        'log.warning("a.b", extra=facts)',
        'log.warning("a.b", extra={"x": 1, **given})',
        'log.warning("a.b %s", 1)',
        "log.warning(event)",
        'log.warning("a.b", extra={"x": 1}, exc_info=True)',
        'async def f():\n    logger.error("a.b", extra={"x": 1})',
    ],
)
def test_the_rule_finds_a_call_that_the_catalogue_does_not_know(text: str):
    assert log_events.breaches(text, {"a.b": ("warning", frozenset({"x"}), False)})
