"""Bounds for work that ends its worker, so that it is not retried for ever.

Used by the rescue stage, when a worker fell silent, and by workers, when one of their processes
died of its run: both count the same losses against the same bounds.
"""

from __future__ import annotations

#: After this many losses an execution runs in a process of its own.
ALONE_AFTER = 2
#: After this many losses it becomes a dead letter, even with attempts left.
POISONED_AFTER = 3


def refusal_after_loss(lost_before: int) -> str:
    """Return the reason not to try again after one more loss; empty while there is none."""
    return "poisoned" if lost_before + 1 >= POISONED_AFTER else ""
