from __future__ import annotations

import pytest

from shared.trace_context import (
    MAX_LENGTH,
    TraceContext,
    context_of,
    from_text,
    read_state,
    span_of,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    "context",
    [
        TraceContext(TRACE),
        TraceContext(TRACE, "00"),
        TraceContext(TRACE, "01", "a=b,c=d e"),
        TraceContext(TRACE, "01", "", "1" * 16),
        TraceContext(TRACE, "01", "a=b,c=d-e", "1" * 16),
    ],
)
def test_what_is_kept_is_read_back(context: TraceContext):
    assert from_text(context.to_text()) == context


def test_the_longest_context_fits_its_column():
    assert len(TraceContext(TRACE, "01", "s" * 512).to_text()) <= MAX_LENGTH


def test_a_long_state_leaves_no_room_for_the_parent():
    long = TraceContext(TRACE, "01", "s" * 512, "1" * 16)

    assert from_text(long.to_text()) == long._replace(parent="")


@pytest.mark.parametrize(("flags", "yes", "no"), [("00", "01", "00"), ("03", "03", "02")])
def test_a_decision_changes_no_other_flag(flags: str, yes: str, no: str):
    context = TraceContext(TRACE, flags)

    assert (context.sampled(True).flags, context.sampled(False).flags) == (yes, no)
    assert context.sampled(True).is_sampled
    assert not context.sampled(False).is_sampled


def test_each_part_of_an_attempt_is_a_span():
    low_digits_are_zero = "0" * 31 + "5"

    assert span_of(low_digits_are_zero, 5) == f"{1:016x}"
    assert len({span_of("9" * 32, attempt, part) for attempt in (1, 2) for part in (0, 1)}) == 4


def test_a_request_is_a_span_of_its_trace():
    assert TraceContext(TRACE, "00").traceparent("1" * 16) == f"00-{TRACE}-{'1' * 16}-00"


def test_an_execution_that_continues_none_is_a_trace_of_its_own():
    own = "019a9f3c-8000-8123-8456-0123456789ab"

    assert context_of(own, None) == TraceContext(own.replace("-", ""))
    assert context_of(own, f"{TRACE}-00") == TraceContext(TRACE, "00")


@pytest.mark.parametrize(
    ("header", "state"),
    [
        *(
            ("", ""),
            ("a=b", "a=b"),
            (" a=b ,\tc=d ,, ", "a=b,c=d"),
            ("t@v/x-*_1=!~", "t@v/x-*_1=!~"),
        ),
        *(("A=b", ""), ("a", ""), ("a=b=c", ""), ("a=b\x7f", ""), ("a=ü", ""), ("a=b\r\nX: y", "")),
        (",".join(f"k{n}=v" for n in range(32)), ",".join(f"k{n}=v" for n in range(32))),
        (",".join(f"k{n}=v" for n in range(33)), ""),
        (",".join(f"k{n}={'v' * 200}" for n in range(3)), ""),
    ],
)
def test_a_state_is_handed_on_unless_it_breaks_its_rules(header: str, state: str):
    assert read_state(header) == state
