"""The calls and commands of a how-to page, made as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from shared.ids import new_id
from tests.support.api import ApiClient
from tests.support.command_calls import Said, call

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "howto"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CURL = re.compile(
    r"""curl\ -sS(?:\ -X\ (?P<method>[A-Z]+))?\ "?http://127\.0\.0\.1:8000(?P<path>[^\s"]+)"?
        (?P<headers>(?:\s+\\?\n?\s*-H\ "[^"]+")*)
        (?:\s+\\?\n?\s*-d\ '(?P<body>[^']*)')?\s*\Z""",
    re.VERBOSE,
)
_COMMAND = "python manage.py "


class PageCall(NamedTuple):
    """A call of the API as a page shows it, with names such as ``$RUN`` in its path."""

    method: str
    path: str
    body: Any
    is_idempotent: bool

    def make(self, client: ApiClient, **names: Any) -> Any:
        """Make the call; each name replaces ``$NAME`` in the path."""
        path = self.path
        for name, value in names.items():
            path = path.replace(f"${name.upper()}", str(value))
        assert "$" not in path, path
        headers = {"idempotency_key": str(new_id())} if self.is_idempotent else {}
        return client.call(self.method, path, self.body, **headers)


def blocks(page: str, language: str) -> list[str]:
    """Return each block of a language in a page."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    return [code for name, code in _BLOCK.findall(text) if name == language]


def calls_of(page: str) -> list[PageCall]:
    """Return each call of the API that a page shows; every block is a call or commands."""
    found = []
    for block in blocks(page, "sh"):
        if block.startswith(_COMMAND):
            continue
        curl = _CURL.match(block)
        assert curl, f"{page}: this is no call that a test can make:\n{block}"
        body = json.loads(curl["body"]) if curl["body"] else None
        keyed = "Idempotency-Key" in curl["headers"]
        found.append(PageCall(curl["method"] or "GET", curl["path"], body, keyed))
    return found


def commands_of(page: str) -> list[list[str]]:
    """Return the words of each command that a page shows."""
    return [
        shlex.split(line.removeprefix(_COMMAND))
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith(_COMMAND)
    ]


def run_command(words: list[str], *more: str, **names: Any) -> Said:
    """Run a command of a page; each name replaces ``$NAME`` among its words."""
    known = {f"${name.upper()}": str(value) for name, value in names.items()}
    return call(*(known.get(word, word) for word in words), *more)
