from __future__ import annotations

import pytest

from receiver import rooms as receiver_rooms
from receiver.answers import OK
from receiver.messages import Request
from receiver.rooms import Rooms
from tests.receiver.calls import KEY, OTHER, OWN


@pytest.mark.parametrize(
    ("rest", "below"),
    [("/ok", "/ok"), ("/status/418?x=1", "/status/418?x=1"), ("", "/"), ("/", "/"), ("?a", "/?a")],
)
def test_a_request_is_the_one_below_its_segment(rest: str, below: str):
    entered = Rooms(KEY, None).enter(Request("GET", f"/{OWN}{rest}"))

    assert entered is not None
    request, room = entered
    assert (request.target, request.base, room.segment) == (below, f"/{OWN}", OWN)


@pytest.mark.parametrize("target", ["/ok", "/", f"/{OWN}x/ok", f"//{OWN}/ok", f"/x/{OWN}/ok"])
def test_another_request_enters_no_room(target: str):
    assert Rooms(KEY, None).enter(Request("GET", target)) is None


def test_a_segment_that_was_made_up_makes_no_room():
    rooms = Rooms(KEY, None)

    assert rooms.enter(Request("GET", f"/{'a' * 32}/ok")) is None
    assert rooms.find("requests") is None
    assert not rooms._rooms


def test_counts_of_failures_are_each_tenants_own():
    rooms = Rooms(KEY, None)

    def answer(segment: str) -> int | None:
        entered = rooms.enter(Request("POST", f"/{segment}/flaky?fail=1", (("webhook-id", "a"),)))
        assert entered is not None
        return entered[1].answers.answer(entered[0]).status

    assert [answer(OWN), answer(OTHER), answer(OWN)] == [500, 500, 200]


def test_a_redirect_to_a_path_stays_below_the_segment():
    entered = Rooms(KEY, None).enter(Request("GET", f"/{OWN}/redirect?to=/echo"))

    assert entered is not None
    assert entered[1].answers.answer(entered[0]).headers == (("Location", f"/{OWN}/echo"),)


def test_the_room_entered_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_rooms, "MAX_ROOMS", 1)
    rooms = Rooms(KEY, None)
    for segment in (OWN, OTHER):
        room = rooms.find(segment)
        assert room is not None
        room.recent.add(Request("GET", "/ok"), OK)

    assert list(rooms._rooms) == [OTHER]
