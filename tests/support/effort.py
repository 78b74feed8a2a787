"""A bound on processor time, which a loaded machine does not change."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within_processor_seconds(seconds: float) -> Iterator[None]:
    """Fail the block when this process computes for longer in it; waiting does not count.

    For work whose wrong algorithm takes minutes: the bound is far above what the right one takes.
    """

    def too_long(*_: object) -> None:
        raise AssertionError(f"took over {seconds:g} s of processor time")

    usual = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, usual)
