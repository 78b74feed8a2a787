from __future__ import annotations

import pytest

from bench.stolen import Processors, read

_FIRST = "cpu  1000 10 200 90000 50 3 7 100 40 0\ncpu0 500 5 100 45000 25 1 3 50 20 0\n"
_LATER = "cpu  1300 10 260 95000 70 5 8 221 90 0\ncpu0 650 5 130 47500 35 2 4 110 45 0\n"


def test_what_the_host_kept_is_a_share_of_what_was_asked_for():
    # 363 ticks were spent and 121 kept; idle ones were asked for by nobody.
    assert read(_LATER).stolen_percent_since(read(_FIRST)) == pytest.approx(25.0)


def test_a_machine_that_asked_for_nothing_was_denied_nothing():
    assert read(_FIRST).stolen_percent_since(read(_FIRST)) == 0.0


def test_this_machine_says_what_it_has_spent():
    found = read()

    assert isinstance(found, Processors)
    assert found.spent > 0
