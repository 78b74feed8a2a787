from __future__ import annotations

from bench.destination_limits import busiest_second, in_window
from operations.proof.ledger import Arrival


def at(milliseconds: int) -> Arrival:
    return Arrival("", 0, milliseconds * 1_000_000, "", 1, 1, "/ok", 200, 0, None, "")


def test_the_busiest_second_begins_with_any_request():
    assert busiest_second([at(0), at(900), at(1000), at(1800), at(1899)]) == 4


def test_a_window_holds_its_beginning_and_not_its_end():
    assert in_window([at(999), at(1000), at(1999), at(2000)], 1.0, 1.0) == [at(1000), at(1999)]
