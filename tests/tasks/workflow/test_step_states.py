from __future__ import annotations

from tasks.workflow.step_states import ENDED, FAILING, StepState


def test_each_state_has_ended_or_may_still_move():
    assert {StepState.PENDING, StepState.OPEN, StepState.COMPENSATING} | ENDED == set(StepState)
    assert FAILING < ENDED


def test_a_new_run_is_a_row_of_zeros():
    assert bytearray(3) == bytearray([StepState.PENDING] * 3)
