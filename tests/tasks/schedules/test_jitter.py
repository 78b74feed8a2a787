from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

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
