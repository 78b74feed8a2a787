"""The reference page of authorisation is the tables', and its count is that of its cells."""

from __future__ import annotations

import re

from tests.architecture import tree
from tests.support.authorisation_page import page, parts

_PATH = tree.REPOSITORY / "docs/reference/authorisation.md"
_REGENERATE = "python -m tests.support.authorisation_page > docs/reference/authorisation.md"
_ANSWERS = {
    *("yes", "200", "302", "400", "401", "403", "404", "405", "503"),
    *("taken", "login", "enrol", "empty", "heard", "not heard", "4401", "no ticket"),
}


def test_the_page_is_written_from_the_tables():
    assert _PATH.read_text(encoding="utf-8") == page(), f"write it again: {_REGENERATE}"


def test_the_count_of_each_part_is_that_of_its_cells_and_none_is_empty():
    text = page()
    stated = {
        found[1]: int(found[4].replace(",", ""))
        for found in re.finditer(
            r"^\| ([^|]+) \| (\d+) \| (\d+) \| ([\d,]+) \|$",
            text.partition("\n## ")[0],
            re.MULTILINE,
        )
    }
    counted = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        if title in stated:
            counted[title] = _cells(section)

    assert counted == stated
    assert set(stated) == {part.title for part in parts()}
    total = re.search(r"^\| all \| \d+ \| \| ([\d,]+) \|$", text, re.MULTILINE)
    assert total is not None
    assert int(total[1].replace(",", "")) == sum(counted.values()) > 10_000


def _cells(section: str) -> int:
    """Return the cells of a part: each column counts once for each kind of caller in it."""
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    columns, answers = (
        [line.strip("| \n").split(" | ") for line in table.splitlines()[2:]] for table in tables
    )
    sizes = [len(kinds.split("; ")) for _, kinds in columns]
    count = 0
    for row in answers:
        assert {*row[1:]} <= _ANSWERS, row
        count += sum(size for size, _ in zip(sizes, row[1:], strict=True))
    return count
