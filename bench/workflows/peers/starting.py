"""Starts the runs of a plan, each at its time. Imports the standard library only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bench.workflows.peers.shapes import Runs


def start_each(runs: Runs, start: Callable[[int], object]) -> None:
    """Call ``start`` with the number of each run when it is due, one after the other."""
    pause = threading.Event()
    for number in range(runs.count):
        pause.wait(max(0.0, runs.due_ms(number) / 1000 - time.time()))
        start(number)
