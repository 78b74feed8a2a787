"""Every process decides alike, by the id of a trace, whether it is recorded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.conf import conf
from shared.ids import execution_id
from shared.trace_context import TraceContext
from shared.tracing.config import Tracing
from shared.tracing.sampling import (
    context_of_attempt,
    context_of_call,
    is_chosen,
    is_recorded,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
OWN = "0195c0c0-0000-8000-8000-000000000001"


def _record(settings: Any, **parts: Any) -> None:
    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example", **parts))


def test_the_share_of_recorded_executions_is_the_ratio_although_ids_have_fixed_bits():
    begin = datetime(2026, 11, 20, tzinfo=UTC)
    ids = [execution_id(UUID(int=7), begin + timedelta(seconds=n)).hex for n in range(10_000)]

    chosen = {ratio: sum(is_chosen(one, ratio) for one in ids) for ratio in (0.0, 0.01, 0.5, 1.0)}

    assert chosen[0.0] == 0
    assert 70 < chosen[0.01] < 130
    assert 4800 < chosen[0.5] < 5200
    assert chosen[1.0] == len(ids)


def test_what_is_recorded_at_a_ratio_is_recorded_at_a_higher_one():
    ids = [execution_id(UUID(int=n), datetime(2026, 11, 20, tzinfo=UTC)).hex for n in range(500)]

    few, more = ({one for one in ids if is_chosen(one, ratio)} for ratio in (0.1, 0.3))

    assert few
    assert few < more


def test_without_a_receiver_a_context_stays_as_it_is(settings: Any):
    kept = TraceContext(TRACE, "01", "rojo=1")

    assert context_of_call(kept, is_callers=True, span_id=SPAN) == kept
    assert context_of_attempt(OWN, None, 3) == TraceContext(OWN.replace("-", ""), "01")
    assert context_of_attempt(OWN, kept.to_text(), 3) == kept
    assert not is_recorded(OWN, None)


@pytest.mark.parametrize("flags", ["00", "01", "03"])
def test_the_flag_of_a_caller_decides(settings: Any, flags: str):
    _record(settings, ratio=0.0 if flags != "00" else 1.0)

    found = context_of_call(TraceContext(TRACE, flags), is_callers=True, span_id=SPAN)

    assert found.flags == flags
    assert found.parent == (SPAN if flags != "00" else "")
    assert is_recorded(OWN, found.to_text()) is (flags != "00")


def test_the_ratio_decides_about_callers_where_the_operator_says_so(settings: Any):
    _record(settings, ratio=0.0, follows_callers=False)

    found = context_of_call(TraceContext(TRACE, "03"), is_callers=True, span_id=SPAN)

    # The other flag is the caller's own.
    assert (found.flags, found.parent) == ("02", "")


@pytest.mark.parametrize(("ratio", "flags"), [(0.0, "00"), (1.0, "01")])
def test_the_ratio_decides_about_traces_that_begin_here(settings: Any, ratio: float, flags: str):
    _record(settings, ratio=ratio)

    call = context_of_call(TraceContext(TRACE), is_callers=False, span_id=SPAN)

    assert call.flags == context_of_attempt(OWN, None, 1).flags == flags


def test_a_retry_is_a_trace_of_its_own_that_is_recorded_if_the_first_attempt_was(settings: Any):
    _record(settings, ratio=0.0)
    kept = TraceContext(TRACE, "01", "rojo=1", SPAN)

    first, second, third = (context_of_attempt(OWN, kept.to_text(), n) for n in (1, 2, 3))

    assert first == kept
    assert len({first.trace_id, second.trace_id, third.trace_id}) == 3
    assert (second.flags, second.state, second.parent) == ("01", "", "")
    assert context_of_attempt(OWN.replace("-", ""), kept.to_text(), 2) == second
    assert context_of_attempt(OWN, None, 2).flags == "00"
