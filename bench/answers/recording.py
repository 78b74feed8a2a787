"""Asks the questions, keeps the answers, and compares two recordings byte by byte.

A recording is compressed JSON: each answer's status, headers, and the digest under which its body
stands once. Nothing is altered or left out: each call names its trace, every id and key is given,
and the clock stands still.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.answers.questions import Endpoint, Question, endpoints, forgotten, questions, strange
from bench.answers.world import Rows

_TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
_SHOWN_LINES = 12
_MOST_PAGES = 1000


class Uncalled(Exception):
    """A path or parameter of the document was not asked."""


class Broken(Exception):
    """An answer says that the server failed: the installation is not one to compare with."""


def record(document: Mapping[str, Any], tenants: Mapping[str, Rows], client: Any) -> dict[str, Any]:
    """Ask everything as each tenant; raise Uncalled when something of the document was left out."""
    recording: dict[str, Any] = {"answers": {}, "bodies": {}}
    for name, rows in tenants.items():
        found = endpoints(document, rows.ids)
        asked = []
        for question in _questions(found, name, tenants):
            asked.append(question)
            _ask(recording, client, name, rows.key, question)
        if missing := forgotten(found, asked):
            raise Uncalled(f"not asked: {', '.join(missing)}")
        first = found[0].template
        _keep(recording, f"nobody {first}", client.get(first, headers={"traceparent": _TRACE}))
    return recording


def _questions(found: list[Endpoint], name: str, tenants: Mapping[str, Rows]) -> Iterator[Question]:
    yield from questions(found, tenants[name].ids)
    for other, rows in tenants.items():
        if other != name:
            yield from strange(found, rows.ids)


def _ask(recording: dict[str, Any], client: Any, name: str, key: str, question: Question) -> None:
    headers = {"authorization": f"Bearer {key}", "traceparent": _TRACE}
    url = question.url
    for _ in range(_MOST_PAGES):
        answer = client.get(url, headers=headers)
        _keep(recording, f"{name} {url}", answer)
        following = _next_cursor(answer) if question.walk else None
        if following is None:
            return
        query = "&".join(filter(None, (question.query, f"cursor={following}")))
        url = f"{question.path}?{query}"
    raise AssertionError(f"{question.url} has no last page")


def _next_cursor(answer: Any) -> str | None:
    # A list as a file (CSV, JSON Lines, iCalendar) has no cursor.
    is_json = answer.headers.get("Content-Type", "").partition(";")[0] == "application/json"
    if answer.status_code != 200 or not is_json:
        return None
    content = json.loads(answer.content)
    found: str | None = content.get("pagination", content).get("next_cursor")
    return found


def _keep(recording: dict[str, Any], name: str, answer: Any) -> None:
    headers = dict(sorted(answer.headers.items()))
    if answer.status_code >= 500:
        raise Broken(f"{name}: {answer.status_code} {answer.content[:500]!r}")
    content = answer.getvalue() if answer.streaming else answer.content
    digest = hashlib.sha256(content).hexdigest()[:20]
    recording["bodies"][digest] = content.decode("latin-1")
    recording["answers"][name] = [answer.status_code, headers, digest]


def store(recording: Mapping[str, Any], path: Path) -> None:
    """Write a recording; equal ones are equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(recording, indent=0, sort_keys=True).encode()
    path.write_bytes(lzma.compress(text, preset=9))


def load(path: Path) -> dict[str, Any]:
    """Read a recording."""
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return every answer that differs, is missing or is new, with what differs in it."""
    found = []
    for name in sorted(before["answers"].keys() | after["answers"].keys()):
        old, new = before["answers"].get(name), after["answers"].get(name)
        if old is None or new is None:
            found.append(f"{name}\n  {'only after' if old is None else 'only before'}")
        elif old != new:
            parts = [
                f"  {what}: {was} -> {now}"
                for what, was, now in zip(("status", "headers"), old[:2], new[:2], strict=True)
                if was != now
            ]
            bodies = (before["bodies"][old[2]], after["bodies"][new[2]])
            found.append("\n".join([name, *parts, *_of_bodies(*bodies)]))
    return found


def _of_bodies(before: str, after: str) -> list[str]:
    if before == after:
        return []
    lines = [
        f"  {line}"
        for line in difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=1)
        if not line.startswith(("---", "+++"))
    ]
    # Bytes that no line shows, such as white space between the values.
    return lines[:_SHOWN_LINES] or [f"  other bytes: {len(before)} -> {len(after)}"]


def _lines(body: str) -> list[str]:
    try:
        return json.dumps(json.loads(body), indent=1).splitlines()
    except ValueError:
        return body.splitlines()
