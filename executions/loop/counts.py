"""The result of one pass of a stage, and the time until the next one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """``done`` rows were handled; call again in ``next_in`` seconds (0: at once).

    In ``due_in`` seconds the first of the written rows comes due, at ``first``.
    """

    done: int = 0
    next_in: float = 5.0
    refused: int = 0
    due_in: float = 0.0
    first: datetime | None = None
