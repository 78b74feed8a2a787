from __future__ import annotations

import pytest

from executions.engine.poison import reason_after_loss


@pytest.mark.parametrize(
    ("attempt", "lost_before", "reason"),
    [
        (1, 0, "worker_lost"),
        (2, 1, "worker_lost"),
        (3, 2, "poisoned"),
        (5, 0, "attempts_exhausted"),
        (5, 2, "poisoned"),
    ],
)
def test_the_third_loss_ends_it_whatever_its_attempts(attempt, lost_before, reason):
    assert reason_after_loss(attempt=attempt, max_attempts=5, lost_before=lost_before) == reason
