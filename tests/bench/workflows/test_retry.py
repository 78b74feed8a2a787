from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bench.installation import Installation, InstallationError
from bench.workflows.retry import alive, graph, judge, kill_everything
from operations.proof.matcher import Fault
from tests.support.step_calls import MS, URL, call

BODY = graph(URL)
#: Everything up to the step that fails, and the second take from there on.
FIRST = [
    call(1, 0),
    call(2, 10, 5),
    call(3, 10),
    *(call(4, 20, item=item) for item in range(5)),
    call(5, 30, status=500),
]
SECOND = [call(5, 1000, take=2), call(6, 1010, 5, take=2), call(7, 1020, take=2)]
STRUCK = Fault("SIGKILL", 1012 * MS, 2 * MS)


def test_a_retry_from_the_failed_step_runs_only_what_is_left():
    assert judge([*FIRST, *SECOND], BODY, STRUCK) == []


def test_a_step_that_had_succeeded_and_ran_again_is_found():
    again = call(4, 1005, item=3, take=2)

    found = judge([*FIRST, again, *SECOND], BODY, STRUCK)

    assert "step 4[3] of run run had succeeded and ran again" in found


def test_a_request_in_flight_at_the_kill_may_be_repeated():
    repeated = [*SECOND[:2], call(6, 1500, 5, take=2, attempt=2), call(7, 1600, take=2)]

    assert judge([*FIRST, *repeated], BODY, STRUCK) == []
    assert judge([*FIRST, *repeated], BODY, Fault("SIGKILL", 5000 * MS)) != []


def test_only_an_installation_of_its_own_is_killed():
    with pytest.raises(InstallationError):
        asyncio.run(kill_everything(Installation("http://127.0.0.1:1", "key", {})))


def test_a_process_that_runs_is_told_from_one_that_does_not(tmp_path: Path):
    assert alive([os.getpid(), 2**22 + 1]) == [os.getpid()]
