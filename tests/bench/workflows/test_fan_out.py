from __future__ import annotations

from bench.workflows.fan_out import figures_of
from tests.support.step_calls import MS, call


def test_the_join_counts_from_the_end_of_the_last_item():
    calls = [call(1, 20, item=0), call(1, 30, 15, item=1), call(1, 40, 2, item=2), call(2, 60)]

    assert figures_of(calls, 10 * MS, 0.1) == {
        "total_seconds": 0.09,
        "first_item_ms": 10.0,
        "items_per_second": 100.0,
        "last_item_to_join_ms": 15.0,
    }


def test_a_fan_out_whose_join_never_began_has_no_figures():
    assert figures_of([call(1, 20, item=0)], 0, 1.0) == {}
