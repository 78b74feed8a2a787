"""The differences of two versions of a task's definition, line by line, side by side.

Definitions are compared as the API shows them: secrets masked, payloads only where they may be
seen. A field that is named now is masked in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal

import orjson

from shared.exceptions import NotFound
from shared.field_redaction import redacted
from shared.payload_sight import is_hidden
from tasks.definition import to_long
from tasks.models import Task, TaskRevision
from tasks.revisions import own_revisions, read_readable, readable_version

#: Equal lines that stay around a difference.
_AROUND = 3
#: Lines of each version that are compared; a payload may be longer.
MOST_LINES = 3_000
#: Lines between the first and the last difference in which equal ones are looked for, which takes
#: time with the square of their number: the lines of a longer stretch count as changed.
_MOST_ALIGNED = 1_000
SAME, CHANGED, LEFT_OUT = "same", "changed", "left_out"
#: What happens to the lines of a stretch of each version.
_Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of each version, None where one has none; ``left_out`` has ``count`` equal ones."""

    kind: str
    before: str | None = None
    after: str | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """Two versions and their lines; ``cut``: a version is longer than what was compared."""

    before: TaskRevision
    after: TaskRevision
    lines: Sequence[Line]
    cut: bool

    @property
    def differs(self) -> bool:
        """Whether any compared line differs."""
        return any(line.kind == CHANGED for line in self.lines)


def compare_versions(task: Task, before: int, after: int) -> VersionDiff:
    """Compare two of the task's own versions; raise NotFound where it has not had one of them."""
    found = {one.version: one for one in own_revisions(task).filter(version__in=(before, after))}
    if len(found) < len({before, after}):
        raise NotFound("The task has no such version.")
    masked = () if is_hidden() else read_readable([task])[task.pk].definition.redact
    old, new = (_lines_of(found[version], masked) for version in (before, after))
    cut = max(len(old), len(new)) > MOST_LINES
    lines = list(_compared(old[:MOST_LINES], new[:MOST_LINES]))
    return VersionDiff(found[before], found[after], lines, cut)


def _lines_of(revision: TaskRevision, masked: Sequence[str]) -> list[str]:
    shown: dict[str, Any] = to_long(readable_version(revision).definition)
    shown = {**shown, "payload": redacted(shown["payload"], masked)}
    text = orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    return text.decode().splitlines()


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    found = _opcodes(old, new)
    for place, (tag, low, high, other_low, other_high) in enumerate(found):
        if tag == "equal":
            is_first, is_last = place == 0, place == len(found) - 1
            yield from _equal(old[low:high], head=not is_first, tail=not is_last)
        else:
            pairs = zip_longest(old[low:high], new[other_low:other_high])
            yield from (Line(CHANGED, was, now) for was, now in pairs)


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    """Return how the old lines become the new ones, as difflib tells it, in bounded time."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    low, other_low = len(old) - tail, len(new) - tail
    middle = _aligned(old[head:low], new[head:other_low])
    found: list[_Opcode] = [("equal", 0, head, 0, head)] if head else []
    found += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    return found + ([("equal", low, len(old), other_low, len(new))] if tail else [])


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines at the beginning are equal."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (was, now) in pairs if was != now), min(len(old), len(new)))


def _aligned(old: Sequence[str], new: Sequence[str]) -> Sequence[_Opcode]:
    if max(len(old), len(new)) > _MOST_ALIGNED:
        return [("replace", 0, len(old), 0, len(new))]
    # Its heuristic leaves lines out that are very frequent, which would take long: brackets, zeros.
    return SequenceMatcher(None, old, new, autojunk=True).get_opcodes()


def _equal(lines: Sequence[str], *, head: bool, tail: bool) -> Iterator[Line]:
    """Yield equal lines, of many only those beside a difference."""
    first, last = _AROUND * head, _AROUND * tail
    if len(lines) <= first + last + 1:
        yield from (Line(SAME, text, text) for text in lines)
        return
    yield from (Line(SAME, text, text) for text in lines[:first])
    yield Line(LEFT_OUT, count=len(lines) - first - last)
    yield from (Line(SAME, text, text) for text in lines[len(lines) - last :])
