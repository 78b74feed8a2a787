"""Calling a management command as a test: its exit code and what it wrote."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


class Said(NamedTuple):
    """What a command left with and wrote."""

    code: int
    out: str
    err: str


def call(command: str, *words: str) -> Said:
    """Run the command; an error of its own is its exit code and its message on stderr."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command(command, *words, stdout=out, stderr=err)
    except SystemExit as left:
        code = int(left.code or 0)
    except CommandError as error:
        err.write(str(error))
        code = error.returncode
    return Said(code, out.getvalue(), err.getvalue())


def type_in(monkeypatch: pytest.MonkeyPatch, text: str, *, terminal: bool = True) -> None:
    """Let the command read the text from its standard input."""
    stdin = io.StringIO(text)
    monkeypatch.setattr(stdin, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdin", stdin)
