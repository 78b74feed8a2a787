from __future__ import annotations

from insight.numbers import NUMBERS, PARTS
from insight.numbers.page import render_numbers
from tests.architecture import tree

PAGE = tree.REPOSITORY / "docs" / "reference" / "numbers.md"
WRITE = (
    "run: python -c 'from insight.numbers.page import render_numbers as r; print(r(), end=\"\")' "
    "> docs/reference/numbers.md"
)


def test_the_reference_page_is_what_the_catalogue_says():
    assert PAGE.read_text(encoding="utf-8") == render_numbers(), WRITE


def test_the_page_has_a_part_for_each_number():
    lines = render_numbers().splitlines()

    assert [line[4:] for line in lines if line.startswith("### ")] == list(NUMBERS)


def test_each_name_is_given_once():
    assert sum(len(part) for part in PARTS.values()) == len(NUMBERS)


def test_each_place_is_named_by_one_number():
    for kind in ("answers", "pages", "commands"):
        places = [place for one in NUMBERS.values() for place in getattr(one, kind)]
        assert len(places) == len(set(places))
