"""No page loads more than 60 kB of scripts, compressed; those loaded on demand included."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tests.architecture.tree import REPOSITORY

LIMIT = 60_000
TEMPLATES = REPOSITORY / "templates"
STATIC = REPOSITORY / "static"
PAGES = sorted(
    page.relative_to(TEMPLATES).as_posix()
    for page in (TEMPLATES / "dashboard").glob("*.html")
    if not page.name.startswith("_")
)


def scripts_of(template: str) -> set[Path]:
    """Return the scripts of a page: its own, its frame's, and what they import."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    named = re.findall(r"<script[^>]*\{% static '([^']+\.js)' %\}", text)
    found = {script for name in named for script in with_imports(STATIC / name)}
    for other in re.findall(r'\{% (?:extends|include) "([^"]+)"', text):
        found |= scripts_of(other)
    if '"dashboard/base.html,' in text:
        found |= scripts_of("dashboard/base.html")
    return found


def with_imports(script: Path) -> set[Path]:
    found, ahead = set(), [script]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            text = one.read_text(encoding="utf-8")
            ahead += [
                one.parent / name for name in re.findall(r'(?:from |import\()"(\./[^"]+)"', text)
            ]
    return {one.resolve() for one in found}


def weight(scripts: set[Path]) -> int:
    return sum(len(gzip.compress(one.read_bytes(), 6)) for one in scripts)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_loads_more_scripts_than_it_may(page):
    scripts = scripts_of(page)

    assert weight(scripts) <= LIMIT, sorted(one.name for one in scripts)


def test_the_scripts_of_a_page_are_found_with_those_loaded_on_demand():
    names = {one.name for one in scripts_of("dashboard/overview.html")}

    assert {"console.js", "palette.js", "sending.js", "uPlot.iife.min.js"} <= names
    assert "htmx.min.js" not in names


def test_a_page_that_uses_htmx_loads_it():
    uses = [
        page
        for page in PAGES
        if re.search(r"\shx-[a-z]+", (TEMPLATES / page).read_text(encoding="utf-8"))
    ]

    assert uses
    assert [page for page in uses if "htmx.min.js" not in {x.name for x in scripts_of(page)}] == []
