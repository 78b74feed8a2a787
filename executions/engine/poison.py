"""Work that ends its worker does not go round for ever (D8).

Asked by the rescue stage, when a worker fell silent, and by workers, when a process of theirs died
of what it ran: both count the same losses against the same bounds.
"""

from __future__ import annotations

#: After so many losses an execution runs in a process of its own.
ALONE_AFTER = 2
#: After so many losses it goes to the dead letters, whatever its attempts.
POISONED_AFTER = 3


def reason_after_loss(*, attempt: int, max_attempts: int, lost_before: int) -> str:
    """Return why the execution moves after one more loss; only ``worker_lost`` is tried again."""
    if lost_before + 1 >= POISONED_AFTER:
        return "poisoned"
    return "worker_lost" if attempt < max_attempts else "attempts_exhausted"
