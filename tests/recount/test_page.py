"""The reader of pages finds every digit that a person would, named or stray."""

from __future__ import annotations

import pytest

from tests.recount.page import read, table


def test_a_named_number_is_found_with_its_row():
    [number] = read('<p data-row="a">Has <b data-number="x.count">1,204</b> rows</p>').numbers

    assert (number.name, number.text, number.row) == ("x.count", "1,204", "a")


@pytest.mark.parametrize(
    "html",
    [
        "<p>14 tasks</p>",
        "<p><b data-number='a'>1</b> of 20</p>",
        "<svg aria-label='3 in all'></svg>",
        "<span title='7 rows'>rows</span>",
        "<div data-series='[1,2]'></div>",
        "<a><text>5k</text></a>",
    ],
)
def test_a_number_without_a_name_is_a_stray(html):
    assert len(read(html).strays) == 1


@pytest.mark.parametrize(
    "html",
    [
        "<time title='12:00'>12:00</time>",
        "<p>As a command: <code>dlq --rate 10/s</code></p>",
        "<span data-constant>1 s</span>",
        "<small data-identity>host7, pid 12</small>",
        "<script>let a = 1;</script>",
        "<div aria-label='w' aria-valuenow='3'><b data-number='w.slots'>3/4</b></div>",
        "<p data-number='all'>3 <b>4</b></p>",
    ],
)
def test_what_is_no_count_or_has_a_name_is_no_stray(html):
    assert read(html).strays == []


def test_a_picture_is_named_by_its_kind_and_gives_its_table():
    html = (
        '<figure class="picture picture-fires"><figcaption>3 starts</figcaption><table><thead><tr>'
        "<th>Minute</th></tr></thead><tbody><tr><th>08:00</th><td>3</td></tr></tbody></table>"
    )

    [number] = read(html).numbers

    assert number.name == "picture.fires"
    assert table(number.node) == [["08:00", "3"]]
