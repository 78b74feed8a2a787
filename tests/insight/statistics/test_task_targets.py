"""What is left of the budget of a task's target, and how fast it is spent."""

from __future__ import annotations

import pytest

from insight.statistics.task_targets import TargetFigure, task_targets
from shared.ids import new_id


@pytest.mark.parametrize(
    ("counts", "left", "rate"),
    [
        ((0, 0, 0, 0), 1.0, 0.0),
        ((10_000, 5, 1_000, 1), 0.5, 1.0),
        ((1_000, 3, 10, 1), -2.0, 100.0),
        ((1_000, 3, 0, 0), -2.0, 0.0),
    ],
)
def test_one_in_a_thousand_may_miss_it(counts: tuple[int, ...], left: float, rate: float):
    figure = TargetFigure("start", 60, *counts)

    assert figure.left == pytest.approx(left)
    assert figure.burn_rate == rate


@pytest.mark.django_db
def test_a_task_that_has_not_run_has_no_figures():
    assert task_targets(new_id(), new_id()) == []
