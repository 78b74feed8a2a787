"""Work that ends its worker does not go round for ever (D8).

Asked by the rescue stage, when a worker fell silent, and by workers, when a process of theirs died
of what it ran: both count the same losses against the same bounds.
"""

from __future__ import annotations

#: After so many losses an execution runs in a process of its own.
ALONE_AFTER = 2
#: After so many losses it goes to the dead letters, whatever its attempts.
POISONED_AFTER = 3


def refusal_after_loss(lost_before: int) -> str:
    """Return the reason not to try again after one more loss; empty while there is none."""
    return "poisoned" if lost_before + 1 >= POISONED_AFTER else ""
