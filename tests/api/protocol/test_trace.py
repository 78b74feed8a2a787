from __future__ import annotations

import pytest

from api.protocol.trace import continue_trace, trace_id_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_valid_traceparent_is_continued_with_a_span_of_our_own():
    trace = continue_trace(f"00-{TRACE}-{SPAN}-00")

    assert (trace.trace_id, trace.context.flags, trace.continued) == (TRACE, "00", True)
    assert trace.span_id != SPAN
    assert trace.traceparent == f"00-{TRACE}-{trace.span_id}-00"


def test_a_later_version_with_more_fields_is_continued():
    assert continue_trace(f"cc-{TRACE}-{SPAN}-01-what-comes").trace_id == TRACE


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
    ],
)
def test_an_invalid_traceparent_begins_a_new_trace(header):
    trace = continue_trace(header)

    assert len(trace.trace_id) == 32
    assert not trace.continued
    assert trace.trace_id != TRACE
    assert continue_trace(header).trace_id != trace.trace_id


def test_outside_of_a_request_there_is_no_trace():
    assert trace_id_of(None) == ""


def test_the_state_of_a_trace_is_handed_on_with_it_and_with_no_other():
    state = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"

    assert continue_trace(f"00-{TRACE}-{SPAN}-01", state).context.state == state
    assert continue_trace("nonsense", state).context.state == ""
