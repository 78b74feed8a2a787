"""Which steps a page lists, and where the others are."""

from __future__ import annotations

import pytest

from dashboard.step_pages import STEPS_AT_ONCE, page_of

ORDER = list(range(1, 251))
FAILED = {"FAILED": ("failed", [3, 150, 240])}


def page(order=ORDER, start=None, only=None, groups=FAILED):
    return page_of(order, {"steps_from": start, "only": only}, groups)


@pytest.mark.parametrize(
    ("start", "first", "last", "before", "after"),
    [
        (None, 1, 100, "", "100"),
        (0, 1, 100, "", "100"),
        (100, 101, 200, "0", "200"),
        (130, 101, 200, "0", "200"),
        (200, 201, 250, "100", ""),
        (1000, 201, 250, "100", ""),
    ],
)
def test_a_page_has_a_hundred_steps_and_links_to_its_neighbours(start, first, last, before, after):
    found = page(start=start)

    assert (found.first, found.last, found.before, found.after) == (first, last, before, after)
    assert list(found.numbers) == ORDER[first - 1 : last]
    assert found.is_paged


def test_a_group_has_its_steps_alone_in_their_order():
    found = page(only="FAILED", start=100)

    assert (list(found.numbers), found.total, found.whole) == ([3, 150, 240], 3, 250)
    assert [(one.label, one.count, one.is_here) for one in found.groups] == [
        ("All", 250, False),
        ("failed", 3, True),
    ]


def test_a_word_that_is_no_group_now_shows_all():
    assert page(only="RUNNING").total == 250
    assert page(only="").groups[0].is_here


@pytest.mark.parametrize("count", [0, 1, STEPS_AT_ONCE])
def test_few_steps_have_no_pages(count: int):
    found = page(order=ORDER[:count], groups={})

    assert (list(found.numbers), found.is_paged) == (ORDER[:count], False)
    assert (found.before, found.after) == ("", "")
