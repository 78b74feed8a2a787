from __future__ import annotations

import pytest

from dashboard.pictures.patterns import LINES, pattern
from tests.dashboard.pictures.reading import parsed


@pytest.mark.parametrize("name", list(LINES))
def test_a_pattern_has_a_ground_and_its_lines(name: str):
    (found,) = parsed(pattern("pm-1", name, "owner-1"))

    assert found.get("id") == "pm-1"
    assert found[1].get("d") == LINES[name]


def test_no_two_patterns_are_the_same():
    assert len(set(LINES.values())) == len(LINES)
