"""The spans of this process on their way out: a bounded queue, and a thread that sends them.

Nothing waits for it: a span that finds the queue full is dropped and counted, as one is that the
receiver does not take. The thread begins with the first span, and what waits is sent when the
process ends, within a few seconds. The counts of all processes are added up in Redis.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import cast

import redis

from shared.conf import conf
from shared.redis_client import SPANS_KEY, client
from shared.tracing.config import Tracing
from shared.tracing.spans import Span

log = logging.getLogger(__name__)

#: What became of spans.
SENT, DROPPED = "sent", "dropped"
#: Spans that wait at most; one is under a kilobyte.
MOST_WAITING = 4096
#: Spans of one post, and how long the first of them waits for others.
_BATCH = 512
_GATHER_SECONDS = 2.0
#: How long the end of the process waits for what is left to be sent.
_LAST_SECONDS = 4.0

#: Sends spans and returns whether the receiver took them; it may take seconds.
Send = Callable[[Sequence[Span]], bool]


class Sender:
    """The queue of a process and its thread; ``connect`` makes the way out, in the thread."""

    def __init__(self, connect: Callable[[], Send], most_waiting: int = MOST_WAITING) -> None:
        self._connect = connect
        self._most = most_waiting
        self._waiting: deque[Span] = deque()
        self._lock = threading.Lock()
        #: Something waits; and enough of it, or the process ends.
        self._woken, self._hurry = threading.Event(), threading.Event()
        self._counts: Counter[str] = Counter()
        self._closing = False
        self._thread: threading.Thread | None = None

    def put(self, spans: Sequence[Span]) -> None:
        """Hand over spans; return at once."""
        with self._lock:
            room = max(0, self._most - len(self._waiting))
            if self._closing:
                room = 0
            self._waiting.extend(spans[:room])
            self._counts[DROPPED] += len(spans) - min(room, len(spans))
            if self._thread is None and not self._closing:
                self._start()
            full = len(self._waiting) >= _BATCH
        self._woken.set()
        if full:
            self._hurry.set()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="spans", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread is to be had, or the interpreter ends: the next span tries
            log.exception("spans.cannot_be_sent")
        else:
            self._thread = thread

    def close(self, seconds: float = _LAST_SECONDS) -> None:
        """Send what waits, for this long at most; later spans are dropped."""
        with self._lock:
            self._closing = True
            thread = self._thread
        self._woken.set()
        self._hurry.set()
        if thread is not None:
            thread.join(seconds)
        with self._lock:
            left = len(self._waiting)
        if left:
            # Only told here: the end of the process does not wait for Redis, too.
            log.warning("spans.left_behind", extra={"count": left})

    def _run(self) -> None:
        send: Send | None = None
        while True:
            # An idle process wakes for nothing.
            self._woken.wait()
            self._hurry.wait(_GATHER_SECONDS)
            self._woken.clear()
            self._hurry.clear()
            while batch := self._next():
                if send is None:
                    send = self._connected()
                taken = send is not None and self._sent(send, batch)
                with self._lock:
                    self._counts[SENT if taken else DROPPED] += len(batch)
                self._tell()
            self._tell()
            with self._lock:
                if self._closing and not self._waiting:
                    return

    def _next(self) -> list[Span]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]

    def _connected(self) -> Send | None:
        try:
            return self._connect()
        except Exception:  # a thread that ended would leave every later span unsent and uncounted
            log.exception("spans.cannot_be_sent")
            return None

    def _sent(self, send: Send, batch: Sequence[Span]) -> bool:
        try:
            return send(batch)
        except Exception:  # as above
            log.exception("spans.not_sent", extra={"count": len(batch)})
            return False

    def _tell(self) -> None:
        """Add the counts to those of all processes; keep them while Redis is away."""
        with self._lock:
            counts = +self._counts
            self._counts.clear()
        for kind, number in counts.items():
            try:
                client().hincrby(SPANS_KEY, kind, number)
            except (redis.RedisError, OSError):  # with any other than these the thread would end
                with self._lock:
                    self._counts[kind] += number
                continue
            if kind == DROPPED:
                log.warning("spans.dropped", extra={"count": number})


class _Process:
    lock = threading.Lock()
    sender: Sender | None = None


def _after_fork() -> None:
    # The thread has stayed in the parent, which sends what waits there.
    _Process.lock, _Process.sender = threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)


def emit(spans: Sequence[Span]) -> None:
    """Send spans of sampled traces, some time soon; return at once."""
    if not spans:
        return
    sender = _Process.sender
    if sender is None:
        with _Process.lock:
            sender = _Process.sender = _Process.sender or _begun()
    sender.put(spans)


def close() -> None:
    """Send what waits, for some seconds at most; the next span would begin anew."""
    with _Process.lock:
        sender, _Process.sender = _Process.sender, None
    if sender is not None:
        sender.close()


def read_counts() -> dict[str, int]:
    """Return how many spans of all processes were sent and dropped; raise the errors of Redis."""
    found = cast(dict[bytes, bytes], client().hgetall(SPANS_KEY))
    return {kind: int(found.get(kind.encode(), 0)) for kind in (SENT, DROPPED)}


def _begun() -> Sender:
    tracing = conf().tracing
    if tracing is None:
        raise RuntimeError("spans are sent only where OTEL_EXPORTER_OTLP_ENDPOINT is set")
    atexit.register(close)
    return Sender(lambda: _connect(tracing))


def _connect(tracing: Tracing) -> Send:
    # The libraries are an extra, and take a while to load.
    from shared.tracing.otlp import OtlpExport

    return OtlpExport(tracing)
