"""The page of faults names tests that are there."""

from __future__ import annotations

import re

from tests.architecture import tree

TEXT = (tree.REPOSITORY / "docs/architecture/workflow-faults.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \|(.*)\|$", TEXT, re.MULTILINE)


def test_each_of_the_thirty_faults_has_a_test():
    assert [int(number) for number, _ in ROWS] == list(range(1, 31))
    assert all("`test_" in row for _, row in ROWS)


def test_every_test_that_the_page_names_is_there():
    there = {
        name
        for path in (tree.REPOSITORY / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert set(re.findall(r"`(test_\w+)`", TEXT)) - there == set()
