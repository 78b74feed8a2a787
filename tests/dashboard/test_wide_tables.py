"""What a narrow window makes scroll can be scrolled with the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.architecture.tree import REPOSITORY

_FRAME = re.compile(r'<div class="table-wrap[^"]*"([^>]*)>(.*?)</table>', re.DOTALL)
_TAKES_FOCUS = re.compile(r"<(?:a|button|input|select|summary)\b")


def out_of_reach(text: str) -> Iterator[int]:
    """Yield the line of each table in which nothing takes the focus, nor its frame."""
    for frame in _FRAME.finditer(text):
        if "tabindex" not in frame[1] and not _TAKES_FOCUS.search(frame[2]):
            yield text.count("\n", 0, frame.start()) + 1


def test_each_table_or_something_in_it_takes_the_focus():
    templates = sorted((REPOSITORY / "templates").rglob("*.html"))

    found = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in templates
        for line in out_of_reach(path.read_text(encoding="utf-8"))
    ]

    assert found == []
    assert sum("table-wrap" in path.read_text(encoding="utf-8") for path in templates) > 40


@pytest.mark.parametrize(
    ("frame", "cell", "found"),
    [
        ("", "a word", [2]),
        (' role="region" aria-label="Sizes" tabindex="0"', "a word", []),
        ("", '<a href="/">a link</a>', []),
        ("", "<abbr>a word</abbr>", [2]),
    ],
)
def test_a_table_without_links_and_focus_is_found(frame: str, cell: str, found: list[int]):
    text = f'<h2>Sizes</h2>\n<div class="table-wrap"{frame}><table><tr><td>{cell}</td></tr></table>'

    assert list(out_of_reach(text)) == found
