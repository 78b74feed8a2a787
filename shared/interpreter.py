"""How often a process's threads take turns in the interpreter.

By default a thread that computes runs for five milliseconds while others wait. In the web server a
request that has just had its answer from the database, and holds a lock there, waits that long each
time. In a worker due executions wait while another thread reads the next batch. Called once, when
a process has started.
"""

from __future__ import annotations

import sys

_TURN_SECONDS = 0.0005


def take_short_turns() -> None:
    """Give a waiting thread the interpreter after half a millisecond."""
    sys.setswitchinterval(_TURN_SECONDS)
