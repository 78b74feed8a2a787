"""The changelog's heading says what a line is: changed, added or fixed; no line says it again."""

from __future__ import annotations

import re

from tests.architecture import tree

LINES = (tree.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()


def test_no_line_of_the_changelog_repeats_the_word_of_its_heading():
    assert [line for line in LINES if re.match(r"- (Changed|Added|Fixed|Faster): ", line)] == []


def test_no_line_of_the_changelog_is_there_twice():
    entries = [line for line in LINES if line.startswith("- ")]

    assert sorted(entries) == sorted(set(entries))
