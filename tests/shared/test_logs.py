from __future__ import annotations

import json
import logging

import pytest
import structlog

from shared import logs


@pytest.fixture
def configured(settings):
    """Configure as a test asks, and as the settings say afterwards."""
    yield logs.configure
    logs.configure(settings.LOGGING)
    structlog.contextvars.clear_contextvars()


def _last_line(capsys) -> str:
    return str(capsys.readouterr().err.strip().splitlines()[-1])


def test_json_lines_hold_the_message_and_its_fields(configured, capsys):
    configured({"level": "INFO", "json": True})

    structlog.get_logger("x").info("task created", task_id="t1", attempt=2)

    line = json.loads(_last_line(capsys))
    assert (line["event"], line["task_id"], line["attempt"]) == ("task created", "t1", 2)
    assert (line["level"], line["logger"]) == ("info", "x")


def test_stdlib_lines_look_the_same(configured, capsys):
    configured({"level": "INFO", "json": True})

    logging.getLogger("y").warning("worker lost", extra={"worker": "w1"})

    line = json.loads(_last_line(capsys))
    assert (line["event"], line["worker"], line["level"]) == ("worker lost", "w1", "warning")


def test_bound_fields_are_on_every_line(configured, capsys):
    configured({"level": "INFO", "json": True})
    structlog.contextvars.bind_contextvars(trace_id="abc")

    logging.getLogger("y").warning("worker lost")

    assert json.loads(_last_line(capsys))["trace_id"] == "abc"


def test_secrets_never_reach_a_line(configured, capsys):
    configured({"level": "INFO", "json": True})

    structlog.get_logger("x").info(
        "call made",
        authorization="Bearer canary",
        url="https://u:canary@a.example",
        payload={"a": 1},
    )

    line = _last_line(capsys)
    assert "canary" not in line
    assert json.loads(line)["payload"] == "[redacted]"


def test_people_get_one_plain_line_and_nobody_can_forge_one(configured, capsys):
    configured({"level": "INFO", "json": False})

    structlog.get_logger("x").info("task created", name="a\nforged line \x1b[31m")

    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "\x1b" not in lines[0]


def test_exceptions_are_logged_with_their_traceback(configured, capsys):
    configured({"level": "INFO", "json": True})

    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger("x").exception("it failed")

    assert "ValueError: broken" in json.loads(_last_line(capsys))["exception"]


def test_lines_below_the_level_are_dropped(configured, capsys):
    configured({"level": "WARNING", "json": False})

    structlog.get_logger("x").info("task created")

    assert capsys.readouterr().err == ""
