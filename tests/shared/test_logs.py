from __future__ import annotations

import json
import logging
import os
import re
import warnings
from typing import Any

import pytest
import structlog

from shared import logs
from shared.log_events import EVENTS, LIBRARY

#: Break lines, or hide and forge parts of them, for one program or another.
HOSTILE = 'a\nforged\r\n{"event": "x"}\x00\x1b[31m\x85\u2028\u2029\u202eb\ud800'
#: Recognisable secrets of ours, each in the text around it.
SECRETS = {
    "canary1": "https://u:canary1@a.example",
    "pk_abcdefghi_canary2": "key pk_abcdefghi_canary2 leaked",
    "whsec_canary3": "secret whsec_canary3",
    "canary4": "Authorization: Bearer canary4",
}


@pytest.fixture
def configured(settings):
    """Configure as a test asks, and as the settings say afterwards."""
    yield logs.configure
    logs.configure(settings.LOGGING)
    logging.captureWarnings(False)
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def line(json_lines):
    """Return a function that returns the one line that was written."""

    def read() -> dict[str, Any]:
        found: dict[str, Any]
        [found] = json_lines()
        return found

    return read


def test_a_line_has_the_event_its_words_and_where_it_comes_from(line, monkeypatch):
    logging.getLogger("x").warning("day.archived", extra={"table": "t", "rows": 2})

    found = line()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.pop("time"))
    assert found == {
        "level": "warning",
        "logger": "x",
        "process_kind": "command",
        "process_name": "command",
        "pid": os.getpid(),
        "event": "day.archived",
        "message": EVENTS["day.archived"].message,
        "table": "t",
        "rows": 2,
    }


@pytest.mark.parametrize(
    ("environment", "command", "kind"),
    [
        ({"PROCESS_KIND": "system-worker"}, "run_worker", "system-worker"),
        ({}, "run_recorder", "recorder"),
        ({}, "tasks", "command"),
    ],
)
def test_the_kind_of_a_process_is_what_started_it(monkeypatch, environment, command, kind):
    monkeypatch.delenv("PROCESS_KIND", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["manage.py", command])

    assert logs.process_kind() == kind


def test_a_line_of_a_library_is_its_own_message(line):
    logging.getLogger("redis").warning("retry %d", 3)

    found = line()
    assert (found["event"], found["message"]) == ("library.logged", "retry 3")


def test_structlog_lines_look_the_same(line):
    structlog.get_logger("x").info("day.dropped", table="t")

    found = line()
    assert (found["event"], found["table"], found["logger"]) == ("day.dropped", "t", "x")


def test_warnings_of_python_are_lines_of_a_library(line):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old\nway", stacklevel=1)

    found = line()
    assert (found["event"], "old\nway" in found["message"]) == (LIBRARY, True)


@pytest.mark.parametrize("json_lines", [True, False])
@pytest.mark.parametrize(("secret", "text"), SECRETS.items())
def test_secrets_never_reach_a_line(configured, capsys, json_lines, secret, text):
    configured({"level": "INFO", "json": json_lines})

    class Odd:
        def __str__(self) -> str:
            return str(text)

    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("x").exception(
            text,
            extra={
                "authorization": "canary1 canary4 whsec_canary3 pk_abcdefghi_canary2",
                "payload": {"a": secret},
                "reason": text,
                "many": [{"token": secret}, text],
                "odd": Odd(),
                "odd_ones": [Odd()],
                "request": secret,
                "data": {"args": secret},
            },
        )

    assert secret not in capsys.readouterr().err


@pytest.mark.parametrize("json_lines", [True, False])
def test_no_text_of_a_user_breaks_or_forges_a_line(configured, capsys, json_lines):
    configured({"level": "INFO", "json": json_lines})

    logging.getLogger("x").warning(
        "mail.written", extra={"to": HOSTILE, "subject": HOSTILE, "file": HOSTILE}
    )
    logging.getLogger(HOSTILE).warning(HOSTILE)

    written = capsys.readouterr().err
    assert len(written.splitlines()) == 2
    assert not {"\x00", "\x1b", "\u202e"} & set(written)


def test_hostile_text_can_be_read_back_whole(line):
    logging.getLogger("x").warning("outcome.set_aside", extra={"reason": HOSTILE})

    assert line()["reason"] == HOSTILE


def test_a_line_is_ascii_and_no_longer_than_the_supervisor_reads(configured, capsys):
    configured({"level": "INFO", "json": True})
    log = logging.getLogger("x")

    log.warning("outcome.set_aside", extra={"reason": "é" * 50_000 + "the end"})
    log.warning("runs.not_advanced", extra={"run_ids": ["r" * 36] * 5000})
    log.warning("runs.not_advanced", extra={"run_ids": {"deep": "é" * 50_000}})

    written = [text.encode("ascii") for text in capsys.readouterr().err.splitlines()]
    [cut, few, whole] = map(json.loads, written)
    assert max(map(len, written)) <= 15_000
    assert cut["reason"].endswith("éthe end")
    assert set(few["run_ids"]) == {"r" * 36}
    assert whole["event"] == "runs.not_advanced"


def test_numbers_that_json_does_not_have_are_texts(line):
    logging.getLogger("x").warning("clock.leapt", extra={"clock": "a", "seconds": float("inf")})

    assert line()["seconds"] == "inf"


def test_people_get_one_plain_line(configured, capsys):
    configured({"level": "INFO", "json": False})

    logging.getLogger("x").info("day.dropped", extra={"table": "t\n"})

    [text] = capsys.readouterr().err.splitlines()
    assert f"day.dropped: {EVENTS['day.dropped'].message}" in text
    assert text.endswith(r"table=t\x0a")


def test_exceptions_are_logged_with_their_traceback(line):
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("x").exception("it failed")

    assert "ValueError: broken" in line()["exception"]


def test_lines_below_the_level_are_dropped(configured, capsys):
    configured({"level": "WARNING", "json": False})

    logging.getLogger("x").info("day.dropped")
    logging.getLogger("celery.app.trace").info("job done")

    assert capsys.readouterr().err == ""


def test_output_of_another_process_becomes_a_line(configured):
    configured({"level": "ERROR", "json": True})

    found = json.loads(logs.line_of_output("postgresql", f"{HOSTILE} whsec_canary3"))

    assert (found["event"], found["source"]) == ("process.wrote", "postgresql")
    assert found["text"] == f"{HOSTILE} [redacted]"
