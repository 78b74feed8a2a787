"""What came of one real file that was handed to the product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """One file: what the product made of it, how long it took, and which promise that breaks."""

    package: str
    path: str
    #: A short phrase by which files are counted.
    outcome: str
    seconds: float
    #: Empty where every promise is kept.
    breach: str = ""
    details: dict[str, Any] = field(default_factory=dict)
