from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock
from uuid import UUID

import pytest

from executions.triggering.receiver_requests import segment
from operations.proof import campaign
from operations.proof.client import ApiError
from operations.storm import storm as storm_module
from operations.storm.ground import Ground
from operations.storm.order import Order
from operations.storm.scratch import Scratch
from operations.storm.storm import StormFailed, run_storm
from shared.exceptions import Unavailable

ORDER = Order(10.0, ("worker",), 1)
TENANT = UUID(int=1)


def ground(*, ready: bool = True) -> Mock:
    async def until_recovered(seconds: float) -> bool:
        return ready

    found = Mock(spec=Ground)
    found.until_recovered = until_recovered
    found.local_url = "http://127.0.0.1:1"
    found.receiver_url = "http://127.0.0.1:2/"
    return found


def made(tmp_path: Path) -> Scratch:
    return Scratch(TENANT, "storm-1", "key", tmp_path / "storm-1.jsonl")


def test_what_does_not_run_is_not_stormed(tmp_path: Path):
    with pytest.raises(Unavailable):
        run_storm(ground(ready=False), ORDER, made(tmp_path), print)


@pytest.mark.parametrize("error", [ApiError("POST /v1/tasks answered 500"), ConnectionError("x")])
def test_a_load_that_breaks_off_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    async def fail(*_: object) -> None:
        raise ExceptionGroup("creating", [ExceptionGroup("one of them", [error])])

    monkeypatch.setattr(campaign.Campaign, "run", fail)

    with pytest.raises(StormFailed) as caught:
        run_storm(ground(), ORDER, made(tmp_path), print)

    assert str(error) in caught.value.message


def test_the_load_calls_the_ledger_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []

    class Seen(campaign.Campaign):
        async def run(self, seconds: float, late_after_ms: int = 1000) -> campaign.Outcome:
            seen.append((self._target.url, self._target.ledger, seconds))
            raise ApiError("seen")

    monkeypatch.setattr(storm_module, "Campaign", Seen)
    with pytest.raises(StormFailed):
        run_storm(ground(), ORDER, made(tmp_path), print)

    own = f"http://127.0.0.1:2/{segment(TENANT)}"
    assert seen == [(own, tmp_path / "storm-1.jsonl", 10.0)]
