"""Reads the files of the archive and formats them for ``manage.py archive``.

Called by the command only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

from executions.ledger.archive.parts import Damaged, Part, manifests, read_manifest, verify
from executions.ledger.archive.reading import Chosen
from shared.commands import table, wrong_use
from shared.conf import conf

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DAMAGED = "damaged"
_WHOLE, _NOT_READ = "whole", "not read"


def root_of(options: Mapping[str, Any]) -> Path:
    """Return the archive that the options or the settings name; raise InvalidInput for none."""
    found = options["dir"] or conf().archive_dir
    if not found:
        raise wrong_use("--dir", "no archive is kept: ARCHIVE_DIR is not set. Name a directory")
    return Path(found)


def day_option(text: str) -> date:
    """Return the day that an option gives; raise InvalidInput."""
    message = f"{text!r} is no day; write one like 2026-01-31"
    # The library also reads 20260131 and days of weeks, which no file is named by.
    if not _DAY.fullmatch(text):
        raise wrong_use("--day", message)
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise wrong_use("--day", message) from error


def chosen(options: Mapping[str, Any]) -> Chosen:
    """Return which rows the options want; raise InvalidInput for an incomplete id."""
    return Chosen(_id(options, "task"), _id(options, "execution"))


def found_in(root: Path, *, read_all: bool) -> list[dict[str, Any]]:
    """Return every file that has a manifest, with its state; ``read_all`` verifies every byte."""
    return [_listed(root, path, read_all=read_all) for path in manifests(root)]


def described(part: Part) -> dict[str, Any]:
    """Return the description of a part."""
    return {
        "day": part.day,
        "table": part.table,
        "part": part.number,
        "final": part.facts.final,
        "rows": part.rows,
        "bytes": part.bytes,
        "sha256": part.sha256,
        "written_at": part.facts.written_at,
    }


def list_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the files as a table."""
    rows = [
        (
            one["day"],
            one["table"],
            one["part"],
            one["rows"],
            one["bytes"],
            "yes" if one["final"] else "no",
            one["state"],
        )
        for one in found
    ]
    return table(("day", "table", "part", "rows", "bytes", "final", "state"), rows)


def parts_lines(parts: Sequence[Part], root: Path) -> Iterator[str]:
    """Yield a line for each part that was written."""
    for part in parts:
        yield f"{part.path(root)}  {part.rows} rows  {part.bytes} bytes"


def _listed(root: Path, path: Path, *, read_all: bool) -> dict[str, Any]:
    try:
        part = read_manifest(path)
    except Damaged as error:
        name, _, number = path.stem.partition(".")
        empty = dict.fromkeys(("final", "rows", "bytes", "sha256", "written_at"))
        known = {"day": name, "table": path.parent.name, "part": int(number or 1)}
        return {**known, **empty, "state": DAMAGED, "problem": error.message}
    state, problem = _NOT_READ, None
    try:
        if read_all:
            verify(root, part)
            state = _WHOLE
        elif not _has_its_size(root, part):
            state, problem = DAMAGED, f"{part.path(root)} is missing, or has another size."
    except Damaged as error:
        state, problem = DAMAGED, error.message
    return {**described(part), "state": state, "problem": problem}


def _has_its_size(root: Path, part: Part) -> bool:
    path = part.path(root)
    return path.is_file() and path.stat().st_size == part.bytes


def _id(options: Mapping[str, Any], name: str) -> str | None:
    text = options[name]
    try:
        return None if text is None else str(UUID(text))
    except ValueError as error:
        raise wrong_use(f"--{name}", f"{text!r} is no id; the archive needs all of it") from error
