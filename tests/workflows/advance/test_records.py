"""What an advance reads and writes of a run."""

from __future__ import annotations

from uuid import UUID

import pytest

from executions.choices import COMPENSATION
from tasks.workflow.fans import Fan
from workflows.advance.records import FanRow, StepBegin


def test_the_items_of_a_fan_out_are_opened_once_and_only_when_they_are_read():
    opened: list[int] = []

    def items() -> list[str]:
        opened.append(1)
        return ["a", "b"]

    row = FanRow(1, Fan(total=2, max_parallel=2), items)
    assert opened == []

    assert row.items == ["a", "b"]
    assert row.items == ["a", "b"]
    assert opened == [1]


def test_what_has_begun_and_not_ended_is_outstanding():
    fan = Fan(total=5, max_parallel=3, begun=3, succeeded=1, skipped=1)

    assert FanRow(1, fan, list).outstanding == 1


@pytest.mark.parametrize(("item", "undoes"), [(COMPENSATION, True), (-1, False), (0, False)])
def test_the_begin_of_what_undoes_a_step_is_told_apart(item: int, undoes: bool):
    assert StepBegin(UUID(int=1), 1, item, b"").undoes is undoes
