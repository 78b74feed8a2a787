"""The finding: what a rule has found once or several times, and which alert it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Cause:
    """What the findings of one alert have in common; one alert of it is open at a time.

    ``rule_id`` is None for a built-in rule.
    """

    tenant_id: UUID
    kind: str
    signature: str = ""
    destination: str = ""
    subject: str = ""
    rule_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a rule.

    ``count`` is added to the alert's. ``opening`` replaces it where the finding opens the alert.
    ``total`` replaces the alert's count. ``sentence`` is the cause in words.
    """

    cause: Cause
    sentence: str
    at: datetime
    urgent: bool = False
    task_id: UUID | None = None
    task_name: str = ""
    execution_id: UUID | None = None
    attempt: int = 1
    error_code: str = ""
    error_message: str = ""
    count: int = 1
    opening: int | None = None
    total: int | None = None
    ends_at: datetime | None = None
