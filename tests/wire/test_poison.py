from __future__ import annotations

import pytest

from wire.poison import refusal_after_loss


@pytest.mark.parametrize(
    ("lost_before", "refusal"), [(-1, ""), (0, ""), (1, ""), (2, "poisoned"), (3, "poisoned")]
)
def test_the_third_loss_stands_against_another_attempt(lost_before, refusal):
    assert refusal_after_loss(lost_before) == refusal
