"""Draws the latest runs of a workflow as a table: a row for each step, a column for each run.

It answers which step keeps failing. A cell has a colour and a sign, and its state as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Attributes, joined, plural, tag
from dashboard.state_vocabulary import look_of
from shared.clock_text import clock_text

_EMPTY = tag("td", {"class": "cell-none"}, tag("span", {"class": "sr"}, "not part of this run"))


@dataclass(frozen=True, slots=True)
class GridRun:
    """A column: a run, its state, and its page."""

    state: str
    at: datetime
    href: str


@dataclass(frozen=True, slots=True)
class GridStep:
    """A row: a step with its state in each run, None where the run had no such step."""

    key: str
    href: str
    states: Sequence[str | None]


def run_grid(runs: Sequence[GridRun], steps: Sequence[GridStep]) -> SafeString:
    """Return the grid; runs are oldest first."""
    head = tag("tr", {}, tag("th", {"scope": "col"}, "Step"), *(_head(run) for run in runs))
    body = joined(
        tag(
            "tr",
            {},
            tag("th", {"scope": "row"}, tag("a", {"href": step.href}, step.key)),
            *(_EMPTY if state is None else _cell(state) for state in step.states),
        )
        for step in steps
    )
    title = f"The last {plural(len(runs), 'run')}, the newest at the right"
    table = tag(
        "table",
        {"class": "run-grid"},
        tag("caption", {"class": "sr"}, title),
        tag("thead", {}, head),
        tag("tbody", {}, body),
    )
    attributes: Attributes = {
        "class": "grid-frame",
        "tabindex": 0,
        "role": "region",
        "aria-label": title,
    }
    return tag("div", attributes, table)


def _head(run: GridRun) -> SafeString:
    words = f"{look_of(run.state).label}, {clock_text(run.at)}"
    mark = tag("span", {"class": "sr"}, words)
    anchor = tag("a", {"href": run.href, "title": words, "class": "cell"}, mark)
    return tag("th", {"scope": "col", "class": look_of(run.state).css}, anchor)


@lru_cache(maxsize=64)
def _cell(state: str) -> SafeString:
    look = look_of(state)
    word = tag("span", {"class": "sr"}, look.label)
    css = f"{look.css} is-not-undone" if state == "NOT_UNDONE" else look.css
    return tag("td", {"class": css, "title": look.label}, word)
