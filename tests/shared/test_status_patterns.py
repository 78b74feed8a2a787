from __future__ import annotations

import pytest

from shared.status_patterns import parse_status_pattern


@pytest.mark.parametrize(
    ("pattern", "first", "last"),
    [
        *(("2xx", 200, 299), ("4xx", 400, 499), ("503", 503, 503), ("200-299", 200, 299)),
        *(("999", 999, 999), ("500-599", 500, 599), ("600-999", 600, 999)),
    ],
)
def test_pattern_names_its_statuses(pattern, first, last):
    statuses = parse_status_pattern(pattern)

    assert (statuses[0], statuses[-1]) == (first, last)


@pytest.mark.parametrize(
    "pattern", ["", "6xx", "0xx", "20", "2000", "20x", "299-200", "2xx-3xx", "1000", "99", " 200"]
)
def test_anything_else_is_no_pattern(pattern):
    with pytest.raises(ValueError, match="no status pattern"):
        parse_status_pattern(pattern)


@pytest.mark.parametrize("pattern", ["5xx", "5XX"])
def test_a_status_of_no_class_counts_as_an_error_of_the_server(pattern):
    statuses = parse_status_pattern(pattern)

    assert (statuses[0], statuses[-1]) == (500, 999)
