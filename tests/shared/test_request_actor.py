from __future__ import annotations

from typing import Any

from django.test import RequestFactory

from api.protocol.trace import continue_trace
from shared.actor import Actor
from shared.request_actor import actor_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def request(*headers: str) -> Any:
    made: Any = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")
    made.trace = continue_trace(*headers)
    return made


def test_who_makes_a_request_brings_its_trace_along():
    kept = f"{TRACE}-00 a=b"

    actor = actor_of(request(f"00-{TRACE}-{SPAN}-00", "a=b"), "user:1")

    assert actor == Actor("user:1", "192.0.2.1", TRACE, kept, kept)


def test_a_trace_that_began_with_the_request_is_not_the_callers():
    actor = actor_of(request(""), "user:1")

    assert (actor.trace, actor.callers_trace) == (f"{actor.trace_id}-01", None)


def test_a_request_that_the_middleware_has_not_seen_has_no_trace():
    made = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")

    assert actor_of(made, "user:1") == Actor("user:1", "192.0.2.1")
