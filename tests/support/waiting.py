"""Waiting for a condition that nobody announces: asked again until it holds or time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], timeout: float = 120.0, every: float = 0.02) -> T:
    """Return the condition's first true answer; AssertionError when there is none in time."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {condition}")
        pause.wait(every)
