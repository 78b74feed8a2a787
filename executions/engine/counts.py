"""What one pass of a stage did, and when the next one is wanted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """``done`` rows were handled; call again in ``next_in`` seconds (0: at once)."""

    done: int = 0
    next_in: float = 5.0
    refused: int = 0
