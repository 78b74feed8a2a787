from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from executions.complete.outcome_reports import (
    NONSENSE,
    Accepted,
    Deferred,
    Progress,
    Release,
    Start,
    understand,
)
from executions.transitions import Finish

EXECUTION = uuid4()
AT = datetime(2026, 11, 20, 8, tzinfo=UTC)
#: Redis' clock is five seconds ahead of the database's.
OFFSET = 5.0
SECONDS = AT.timestamp() + OFFSET
ENDED: dict[str, Any] = {
    "verb": "succeeded", "outcome": "SUCCEEDED", "attempt": 2, "worker": "w1",
    "started": SECONDS, "at": SECONDS,
}  # fmt: skip


def said(verb: str, **parts: Any) -> Any:
    return understand({"verb": verb, "id": str(EXECUTION), "token": 7, **parts}, OFFSET)


def test_every_verb_has_its_record_on_the_databases_clock():
    both = {"started": SECONDS, "at": SECONDS}

    assert said("started", worker="w", at=SECONDS) == Start(EXECUTION, 7, "w", AT)
    assert said("released") == Release(EXECUTION, 7)
    assert said("accepted", worker="w", **both) == Accepted(EXECUTION, 7, "w", AT, AT)
    deferred = said("deferred", reason="circuit_open", until=SECONDS)
    assert deferred == Deferred(EXECUTION, 7, "circuit_open", AT)
    assert said("progress", sealed=b"sealed") == Progress(EXECUTION, 7, b"sealed")


def test_an_end_carries_outcome_capture_and_result():
    found = said(**{**ENDED, "sealed": b"a", "result": b"b", "timings": {"total": 1.5}})

    assert isinstance(found, Finish)
    assert (found.status, found.number, found.started_at) == ("SUCCEEDED", 2, AT)
    assert (found.sealed_response, found.sealed_result) == (b"a", b"b")
    assert (found.timings, found.lost) == ('{"total":1.5}', 0)


def test_a_loss_is_counted_once_whatever_is_said():
    parts = {**ENDED, "verb": "retrying", "outcome": "WORKER_LOST"}

    assert said(**parts, lost=1).lost == 1
    assert said(**parts, lost=99).lost == 1


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"verb": "started", "id": "x", "token": 1},
        {"verb": "flown", "id": str(EXECUTION), "token": 1},
        {**ENDED, "id": str(EXECUTION), "token": 1, "outcome": "FLOWN"},
        {**ENDED, "id": str(EXECUTION), "token": 1, "at": "soon"},
        {**ENDED, "id": str(EXECUTION), "token": 1, "sealed": 5},
        {"verb": "progress", "id": str(UUID(int=1)), "token": 1},
    ],
)
def test_what_makes_no_sense_raises_what_the_recorder_expects(row):
    with pytest.raises(NONSENSE):
        understand(row, 0.0)


def test_a_cost_is_kept_with_the_attempt_and_a_bad_one_is_nonsense():
    row = {
        "verb": "succeeded",
        "outcome": "SUCCEEDED",
        "id": str(UUID(int=1)),
        "token": 1,
        "attempt": 1,
        "worker": "w",
        "started": 0.0,
        "at": 1.0,
        "timings": {"total": 5.0},
    }

    said = understand({**row, "cost": {"tokens": 5}}, 0.0)
    noted = understand({**row, "cost_ignored": "X-Cost was ignored: no."}, 0.0)

    assert isinstance(said, Finish)
    assert said.cost == {"tokens": 5.0}
    assert orjson.loads(said.timings) == {"total": 5.0, "cost": {"tokens": 5.0}}
    assert isinstance(noted, Finish)
    assert orjson.loads(noted.timings)["cost_ignored"] == "X-Cost was ignored: no."
    with pytest.raises(ValueError, match="cost"):
        understand({**row, "cost": {"runs": 1}}, 0.0)
