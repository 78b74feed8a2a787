"""Trials of the demo's receiver: a fault ends by itself, and each attempt is counted."""

from __future__ import annotations

from typing import Any

import pytest

from receiver.answers import OK
from receiver.messages import Answer, Request
from receiver.trials import SLOW_MS, begun
from tests.receiver.calls import OTHER, OWN, ask, running, tell


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def attempt(execution: str, number: int) -> Request:
    headers = (("webhook-id", execution), ("x-scheduler-attempt", str(number)))
    return Request("POST", "/ok", headers)


def test_a_fault_begins_and_ends_by_itself():
    clock = Clock()
    trial = begun({"fault": "fail", "after": "5", "seconds": "20"}, clock)
    answered = []
    for clock.now in (104.9, 105.0, 124.9, 125.0):
        answered.append((trial.acts, trial.judge(attempt("a", 1), OK).status))

    assert answered == [(False, 200), (True, 503), (True, 503), (False, 200)]
    assert trial.described()["ends_in"] == 0.0


def test_a_slow_receiver_gives_the_same_answer_later():
    trial = begun({"fault": "slow", "seconds": "20"}, Clock())

    answer = trial.judge(attempt("a", 1), Answer(404, b"gone", delay_ms=200))

    assert (answer.status, answer.body, answer.delay_ms) == (404, b"gone", 200 + SLOW_MS)


def test_the_tally_tells_a_retry_from_a_repeat():
    trial = begun({}, Clock())
    for request, answer in (
        (attempt("a", 1), Answer(503)),
        (attempt("a", 2), OK),
        (attempt("b", 1), OK),
        (attempt("b", 1), OK),
        (attempt("c", 1), Answer(None)),
    ):
        trial.judge(request, answer)

    assert trial.described()["attempts"] == [
        ["a", "1", 1, 0],
        ["a", "2", 1, 1],
        ["b", "1", 2, 2],
        ["c", "1", 1, 0],
    ]


def test_a_tally_that_is_full_says_that_it_is_incomplete(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("receiver.trials.MAX_COUNTED", 1)
    trial = begun({}, Clock())
    trial.judge(attempt("a", 1), OK)
    assert trial.described()["complete"]

    trial.judge(attempt("a", 1), OK)
    trial.judge(attempt("b", 1), OK)

    found = trial.described()
    assert (found["complete"], found["attempts"]) == (False, [["a", "1", 2, 2]])


@pytest.mark.parametrize("query", [{"fault": "fire"}, {"seconds": "601"}, {"after": "soon"}])
def test_a_trial_that_cannot_be_is_refused(query: dict[str, str]):
    with pytest.raises(ValueError, match=next(iter(query))):
        begun(query)


async def test_a_trial_is_of_one_tenant_and_another_begins_anew():
    async with running(trials=True) as receiver:
        assert await tell(receiver, f"/trials/{OWN}") == (200, {"trial": None})
        await tell(receiver, f"/trials/{OWN}?fault=fail&seconds=600", "POST")
        calls = {one: (await ask(receiver, f"/{one}/ok", "POST"))[0] for one in (OWN, OTHER)}
        counted = await _attempts(receiver)
        await tell(receiver, f"/trials/{OWN}", "POST")
        mended = await ask(receiver, f"/{OWN}/ok", "POST")

        assert calls == {OWN: 503, OTHER: 200}
        assert counted == [["", "", 1, 0]]
        assert mended[0] == 200
        assert await _attempts(receiver) == [["", "", 1, 1]]


@pytest.mark.parametrize(
    ("target", "method", "status"),
    [
        (f"/trials/{OWN}?fault=fire", "POST", 400),
        (f"/trials/{OWN}", "DELETE", 405),
        ("/trials/guessed", "POST", 404),
    ],
)
async def test_other_questions_about_trials_are_refused(target: str, method: str, status: int):
    async with running(trials=True) as receiver:
        assert (await tell(receiver, target, method))[0] == status


async def test_a_receiver_without_the_demo_takes_no_trial():
    async with running() as receiver:
        assert (await tell(receiver, f"/trials/{OWN}?fault=fail&seconds=9", "POST"))[0] == 404
        assert (await ask(receiver, f"/{OWN}/ok", "POST"))[0] == 200


async def _attempts(receiver: Any) -> Any:
    return (await tell(receiver, f"/trials/{OWN}"))[1]["trial"]["attempts"]
