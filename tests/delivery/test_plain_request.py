"""What is written in one pass has the bytes of what is composed and encoded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.headers import AttemptFacts, traceparent
from delivery.http_messages import encode_request
from delivery.plain_request import call_of, is_plain, write
from delivery.plan import Moment, Plan, compose, read_plan
from shared.addresses import AllowList
from shared.http_methods import BODILESS
from shared.trace_context import TraceContext
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS

ENTRY: Any = {
    "id": "0195c0c0-0000-7000-8000-000000000001",
    "task": "0195c0c0-0000-7000-8000-000000000002",
    "token": 17,
    "attempt": 3,
}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
AT = "2026-11-20T08:00:00.000Z"
METHODS = ["POST", "PUT", "PATCH", *sorted(BODILESS)]
NAMES = st.sampled_from(["X-Team", "content-type", "Content-Type", "x-a", "Host", "bad name", ""])
PAYLOADS: st.SearchStrategy[Any] = st.sampled_from([None, {"n": 1}, "text ä", [], 0])


def plan(payload: Any = None, **target: Any) -> Plan:
    return read_plan(
        {**TARGET_DEFAULTS, "url": "https://a.example/x?y=z", **target},
        payload,
        policy=RETRY_DEFAULTS,
        tenant="t1",
        allow=AllowList(),
    )


def composed(
    found: Plan,
    entry: Any,
    secrets: list[bytes],
    own: list[Any],
    context: TraceContext | None = None,
) -> bytes:
    facts = AttemptFacts(
        execution_id=entry["id"],
        task_id=entry["task"],
        attempt=entry["attempt"],
        scheduled_for=AT,
        fencing_token=entry["token"],
        traceparent=traceparent(entry["id"], entry["attempt"], context),
        user_headers=found.headers,
        content_type=found.content_type,
    )
    moment = Moment(facts=facts, timestamp=1_700_000_000, secrets=secrets, own_payload=own)
    return encode_request(compose(found, moment))


def written(
    found: Plan,
    entry: Any,
    secrets: list[bytes],
    own: list[Any],
    context: TraceContext | None = None,
) -> bytes:
    body = found.body_of(own[0]) if own else found.body
    assert body is not None
    return write(
        found,
        entry,
        scheduled_for=AT,
        timestamp=1_700_000_000,
        secrets=secrets,
        body=body,
        context=context,
    )


def told(make: Any, *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except ValueError as error:
        return str(error)


@given(
    payload=PAYLOADS,
    own=st.lists(PAYLOADS, max_size=1),
    method=st.sampled_from(METHODS),
    headers=st.dictionaries(NAMES, st.text(max_size=4) | st.sampled_from(["a\r\nb", "\0", "\n"])),
    raw=st.booleans(),
    secrets=st.lists(st.binary(min_size=24, max_size=70), max_size=2),
    attempt=st.integers(1, 1000),
    execution=st.uuids(),
    context=st.sampled_from([None, TraceContext(TRACE, "00")]),
)
def test_both_ways_send_the_same_or_refuse_the_same(
    payload, own, method, headers, raw, secrets, attempt, execution, context
):
    found = plan(payload, method=method, headers=headers, body_format="raw" if raw else "json")
    entry = {**ENTRY, "id": str(execution), "attempt": attempt}

    arguments = (found, entry, secrets, own, context)
    assert told(written, *arguments) == told(composed, *arguments)


@pytest.mark.parametrize("method", ["CONNECT", "GE T", "GET\r\nX: y"])
def test_what_is_no_method_is_refused(method):
    with pytest.raises(ValueError, match="no HTTP method"):
        written(plan(method=method), ENTRY, [], [])


def test_a_message_cannot_add_a_header():
    with pytest.raises(ValueError, match="CR, LF or NUL"):
        written(plan(), {**ENTRY, "task": f"{ENTRY['task']}\r\nX-Evil: 1"}, [], [])


@pytest.mark.parametrize(
    "target",
    [
        {"auth": {"type": "bearer", "token": "t"}},
        {"follow_redirects": True},
        {"completion": "callback"},
        {"template": True},
    ],
)
def test_what_needs_more_is_not_plain(target):
    assert is_plain(plan(), ENTRY)
    assert not is_plain(plan(**target), ENTRY)


def test_what_continues_a_trace_is_not_plain():
    traced: Any = {**ENTRY, "trace": "4bf92f3577b34da6a3ce929d0e0e4736-01"}

    assert not is_plain(plan(), traced)


def test_a_way_of_its_own_is_the_calls_and_nobody_elses():
    shared = plan()
    own = plan(tls={"verify": False})
    own.shape = shared.shape

    assert call_of(shared).route is None
    assert call_of(own).route is own.route is not None
    assert call_of(shared).route is None
