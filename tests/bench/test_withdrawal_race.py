from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from bench.withdrawal_race import Change, Start, broken, unknown
from operations.proof.ledger import Arrival

ANSWERED = datetime(2027, 1, 1, 12, tzinfo=UTC)
EXECUTION = UUID(int=1)


def begun(milliseconds: float, revision: int = 1) -> Start:
    return Start(EXECUTION, revision, ANSWERED + timedelta(milliseconds=milliseconds))


def arrival(webhook_id: str) -> Arrival:
    return Arrival("", 0, 0, webhook_id, 1, 1, "/ok", 200, 0, None, "")


@pytest.mark.parametrize(
    ("change", "start", "faults"),
    [
        (Change("delete", ANSWERED), begun(-5), 0),
        (Change("delete", ANSWERED), begun(0.5), 0),
        (Change("delete", ANSWERED), begun(5), 1),
        (Change("edit", ANSWERED, version=2), begun(5, revision=1), 1),
        (Change("edit", ANSWERED, version=2), begun(5, revision=2), 0),
        (Change("pause", ANSWERED, until=ANSWERED + timedelta(seconds=1)), begun(500), 1),
        (Change("pause", ANSWERED, until=ANSWERED + timedelta(seconds=1)), begun(1500), 0),
    ],
)
def test_what_an_answer_ruled_out_and_began_is_a_fault(change: Change, start: Start, faults: int):
    assert len(broken([change], [start])) == faults


def test_a_request_of_an_execution_that_never_began_is_a_fault():
    starts = {"task": [begun(0)]}

    assert unknown([arrival(str(EXECUTION))], starts) == []
    assert len(unknown([arrival("another")], starts)) == 1
