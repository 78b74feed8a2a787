"""Spans leave by a thread: nothing waits for it, and what is not sent is counted."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import redis

from shared.conf import conf
from shared.redis_client import SPANS_KEY, client
from shared.trace_context import TraceContext
from shared.tracing import sending
from shared.tracing.config import Tracing
from shared.tracing.sending import Sender
from shared.tracing.spans import Kind, Span
from tests.support.closed_redis import closed_redis

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def span(number: int = 1) -> Span:
    return Span(
        "a span", Kind.INTERNAL, TraceContext(TRACE), f"{number:016x}", "", 1.0, 2.0, {"n": number}
    )


def taking(taken: list[Span]) -> sending.Send:
    """Return a way out that takes every span."""

    def send(spans: Sequence[Span]) -> bool:
        taken.extend(spans)
        return True

    return send


@pytest.fixture(autouse=True)
def _no_counts(db: None) -> None:
    client().delete(SPANS_KEY)


class Slow:
    """A way out that takes nothing before it may."""

    def __init__(self) -> None:
        self.begun, self.may = threading.Event(), threading.Event()
        self.taken: list[Span] = []

    def __call__(self, spans: Sequence[Span]) -> bool:
        self.begun.set()
        self.may.wait()
        self.taken += spans
        return True


def test_the_end_of_the_process_sends_what_waits():
    taken: list[Span] = []
    sender = Sender(lambda: taking(taken))

    sender.put([span(1), span(2)])
    sender.put([span(3)])
    sender.close()

    assert [one.attributes["n"] for one in taken] == [1, 2, 3]
    assert sending.read_counts() == {"sent": 3, "dropped": 0}


def test_a_full_queue_drops_what_comes_and_makes_nothing_wait():
    slow = Slow()
    sender = Sender(lambda: slow, most_waiting=512)
    sender.put([span()] * 512)
    assert slow.begun.wait(60)

    sender.put([span()] * 600)
    slow.may.set()
    sender.close(60)

    assert len(slow.taken) == 1024
    assert sending.read_counts() == {"sent": 1024, "dropped": 88}


@pytest.mark.parametrize(
    "fault",
    [
        "refused",
        pytest.param("raised", marks=pytest.mark.logs("spans.not_sent", count=1)),
        pytest.param("not connected", marks=pytest.mark.logs("spans.cannot_be_sent")),
    ],
)
@pytest.mark.logs("spans.dropped")
def test_what_the_receiver_does_not_take_is_dropped(fault: str):
    def connect() -> sending.Send:
        if fault == "not connected":
            raise OSError("no such file")
        return send

    def send(spans: Sequence[Span]) -> bool:
        if fault == "raised":
            raise ValueError(fault)
        return False

    sender = Sender(connect)
    sender.put([span()])
    sender.close()

    assert sending.read_counts() == {"sent": 0, "dropped": 1}


def test_after_the_end_a_span_is_dropped():
    taken: list[Span] = []
    sender = Sender(lambda: taking(taken))
    sender.close()

    sender.put([span()])

    assert taken == []


class Refusing:
    """Redis as it answers where the key is something else."""

    def hincrby(self, *of: Any) -> None:
        raise redis.ResponseError("WRONGTYPE")


@pytest.mark.parametrize("away_as", [closed_redis, Refusing])
def test_counts_are_kept_while_redis_takes_none(monkeypatch: pytest.MonkeyPatch, away_as: Any):
    told = threading.Event()
    sender = Sender(lambda: lambda spans: True)

    def closed() -> Any:
        told.set()
        return away_as()

    with monkeypatch.context() as away:
        away.setattr(sending, "client", closed)
        sender.put([span()] * 512)
        assert told.wait(60)

    sender.put([span()])
    sender.close()

    assert sending.read_counts() == {"sent": 513, "dropped": 0}


def test_where_no_thread_can_begin_the_next_span_tries_again(monkeypatch: pytest.MonkeyPatch):
    taken: list[Span] = []
    sender = Sender(lambda: taking(taken))

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", no_thread)
        sender.put([span(1)])
    sender.put([span(2)])
    sender.close()

    assert [one.attributes["n"] for one in taken] == [1, 2]


def test_what_the_end_of_the_process_leaves_behind_is_told(caplog: pytest.LogCaptureFixture):
    slow = Slow()
    sender = Sender(lambda: slow)
    sender.put([span()] * 512)
    assert slow.begun.wait(60)
    sender.put([span()] * 3)

    sender.close(0)

    assert [(one.message, one.__dict__["count"]) for one in caplog.records] == [
        ("spans.left_behind", 3)
    ]
    slow.may.set()
    sender.close(60)


# There are threads, of which the child needs none.
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_sends_its_own_spans_by_a_thread_of_its_own(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example"))
    heard, said = os.pipe()

    def send(spans: Sequence[Span]) -> bool:
        os.write(said, "".join(f"{one.attributes['n']} " for one in spans).encode())
        return True

    monkeypatch.setattr(sending, "_connect", lambda tracing: send)
    monkeypatch.setattr(sending, "client", Refusing)
    sending.emit([span(1)])
    child = os.fork()
    if child == 0:
        try:
            sending.emit([span(2)])
            sending.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    sending.close()
    os.close(said)
    with os.fdopen(heard, "rb") as pipe:
        assert sorted(pipe.read().split()) == [b"1", b"2"]


def test_without_a_receiver_no_span_is_taken(settings: Any):
    sending.emit([])

    with pytest.raises(RuntimeError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        sending.emit([span()])
