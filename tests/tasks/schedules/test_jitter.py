from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shared.ids import new_id
from tasks.schedules.jitter import jitter_ms


def test_no_jitter_unless_asked_for():
    assert jitter_ms("task", 0, 60) == 0
    assert jitter_ms("task", 0.0004, None) == 0


def test_a_task_keeps_its_place_and_tasks_spread_evenly():
    ids = [str(UUID(int=n)) for n in range(2000)]
    drawn = [jitter_ms(one, 60, 3600) for one in ids]

    assert drawn == [jitter_ms(one, 60, None) for one in ids]
    for tenth in range(10):
        assert 140 < sum(tenth * 6000 <= value < (tenth + 1) * 6000 for value in drawn) < 260


@given(st.text(max_size=40), st.floats(0, 86_400), st.none() | st.floats(0.001, 86_400))
def test_it_stays_below_the_jitter_and_before_the_next_occurrence(task_id, jitter, gap):
    drawn = jitter_ms(task_id, jitter, gap)

    assert drawn >= 0
    assert drawn == 0 or drawn < jitter * 1000
    assert gap is None or drawn == 0 or drawn < gap * 1000


def test_tasks_made_one_right_after_the_other_spread_evenly():
    drawn = sorted(jitter_ms(str(new_id()), 60, None) for _ in range(2000))

    assert 0 <= drawn[0] < 1000
    assert 59_000 < drawn[-1] < 60_000
    # The largest distance from an even spread (Kolmogorov–Smirnov), once in ten million draws.
    assert max(abs(value / 60_000 - place / 2000) for place, value in enumerate(drawn)) < 0.065


def test_a_jitter_larger_than_the_interval_fills_the_interval():
    drawn = [jitter_ms(str(UUID(int=n)), 3600, 10) for n in range(2000)]

    assert min(drawn) < 100
    assert 9900 < max(drawn) < 10_000
