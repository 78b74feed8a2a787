from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError

from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand, first_line, shown, shown_id, table
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, TooLarge, Unavailable


class Failing(PunctualCommand):
    error: BaseException

    def run(self, options):
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput([FieldError("#/name", "invalid", "Too long.")]), 2),
        (NotFound(), 3),
        (Conflict(), 4),
        (TooLarge(), 2),
        (Unavailable(), 5),
        (OperationalError("away"), 5),
        (ImproperlyConfigured("no ENGINE"), 5),
        (redis.ConnectionError("away"), 5),
        (redis.TimeoutError("slow"), 5),
        (ProgrammingError("no such table"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_product_error_has_its_exit_code(error, code):
    command = Failing()
    command.error = error

    with pytest.raises(CommandError) as raised:
        command.handle()

    assert raised.value.returncode == code


def test_documents_are_versioned_json_and_lines_are_text():
    out = io.StringIO()
    command = Failing(stdout=out)

    command.emit({"json": True}, {"at": datetime(2026, 11, 20, tzinfo=UTC)}, ["a line"])
    document = json.loads(out.getvalue())
    command.emit({"json": False}, {}, ["a line"])

    assert document == {"schema": 1, "at": "2026-11-20T00:00:00.000Z"}
    assert out.getvalue().endswith("a line\n")


def test_without_a_terminal_only_yes_is_a_yes(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    with pytest.raises(CommandError) as raised:
        Failing().confirm({"yes": False}, "Really?")

    assert raised.value.returncode == 2
    Failing().confirm({"yes": True}, "Really?")


@pytest.mark.parametrize(("answer", "agreed"), [("y\n", True), ("no\n", False), ("", False)])
def test_on_a_terminal_the_operator_is_asked(monkeypatch, answer, agreed):
    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    command = Failing(stderr=io.StringIO())

    if agreed:
        command.confirm({"yes": False}, "Really?")
    else:
        with pytest.raises(CommandError, match="Nothing was changed"):
            command.confirm({"yes": False}, "Really?")


def test_tables_align_and_cells_cannot_steer_the_terminal():
    lines = table(
        ("name", "at"), [("a\x1b[31m", None), ("longer", datetime(2026, 1, 1, tzinfo=UTC))]
    )

    assert lines[0] == "name    at"
    assert lines[1] == "a?[31m  -"
    assert lines[2] == "longer  2026-01-01T00:00:00.000Z"


def test_what_is_not_data_goes_to_stderr():
    out, err = io.StringIO(), io.StringIO()
    command = Failing(stdout=out, stderr=err)

    command.note("a hint")

    assert (out.getvalue(), err.getvalue()) == ("", "a hint\n")


def test_a_command_leaves_with_its_exit_code():
    with pytest.raises(SystemExit) as left:
        Failing(stdout=io.StringIO()).leave(6)

    assert left.value.code == 6


def test_a_reader_that_has_seen_enough_is_no_error(capfd):
    command = Failing()
    command.error = BrokenPipeError()

    with capfd.disabled(), open(os.devnull, "w") as pipe, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", pipe)
        command.handle()


def test_long_text_is_cut_and_errors_are_one_line():
    assert shown("abcdef", 4) == "abc…"
    assert shown("abc", 4) == "abc"
    assert first_line(OperationalError("first\nsecond")) == "first"
    assert first_line(OperationalError()) == ""


def _say(command, options):
    command.note("said")
    command.emit(options, {"said": True}, [command.paint("FAILED")])


class Saying(VerbCommand):
    verbs = (Verb("say", "say it", ("saying say",), _say),)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _call(*words: str, stdout: io.StringIO | None = None) -> tuple[str, str]:
    out, err = stdout or io.StringIO(), io.StringIO()
    call_command(Saying(), *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_verb_is_called_with_its_options():
    out, err = _call("say", "--json")

    assert (json.loads(out), err) == ({"schema": 1, "said": True}, "said\n")


def test_quiet_leaves_hints_and_progress_out():
    assert _call("say", "--quiet")[1] == ""
    for quiet in (True, False):
        err = io.StringIO()
        command = Failing(stderr=err)
        command._quiet = quiet
        with command.progress("going", 10) as shown_progress:
            shown_progress.update(10)
        assert err.getvalue() == ("" if quiet else "going 100 % (10 of 10)\n")


def test_states_are_coloured_on_a_terminal_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)

    assert _call("say")[0] == "FAILED\n"
    assert _call("say", stdout=Terminal())[0] == "\x1b[31mFAILED\x1b[0m\n"
    assert _call("say", "--no-color", stdout=Terminal())[0] == "FAILED\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert _call("say", stdout=Terminal())[0] == "FAILED\n"


def test_a_table_paints_only_columns_of_states():
    lines = table(("status", "name"), [("FAILED", "FAILED")], lambda text: f"<{text}>")

    assert lines[1] == "<FAILED>  FAILED"


def test_a_stream_is_one_object_per_line():
    out = io.StringIO()
    command = Failing(stdout=out)

    command.emit_line({"n": 1})
    command.emit_line({"n": 2})

    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"schema": 1, "n": 1},
        {"schema": 1, "n": 2},
    ]


@pytest.mark.parametrize("width", [5, 8, 32])
def test_an_id_is_cut_in_its_middle_to_the_width(width: int):
    cut = shown_id("a" * 40 + "b" * 40, width)

    assert len(cut) == width
    assert (cut[0], cut[-1]) == ("a", "b")
    assert shown_id("short", width) == "short"
