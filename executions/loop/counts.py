"""What one pass of a stage did, and when the next one is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """``done`` rows were handled; call again in ``next_in`` seconds (0: at once).

    ``due_in`` says in how many seconds the soonest of what was written comes due, at ``first``.
    """

    done: int = 0
    next_in: float = 5.0
    refused: int = 0
    due_in: float = 0.0
    first: datetime | None = None
