"""The parts of an explanation: checks in order, a verdict, an estimate; and its answer.

``ok`` is true when a check was passed, false when it stops or stopped the instant, None when it
was not reached, does not apply, or only waits for a time that will come (``not_yet``). The first
false check is the first blocker. An instant that is merely not yet due has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from insight.explain.estimates import EstimateError
from insight.run_part import RunPart
from shared.clock_text import clock_text
from shared.instants import format_instant

#: Checks in the order in which an instant passes them.
CHECKS = (
    "task_exists",
    "task_active",
    "tenant_active",
    "run",
    "in_schedule",
    "calendar",
    "dependencies",
    "due",
    "prepared",
    "misfire",
    "budget",
    "overlap",
    "concurrency_key",
    "bulk_job",
    "tenant_limit",
    "retry",
    "pool",
    "redis",
    "tenant_limit",
    "destination",
    "workers",
    "lease",
    "running",
    "steps",
    "deadline",
    "outcome",
)
#: The states of an instant; the first three are the wanted ones.
STATES = (
    "ran",
    "runs",
    "will_run",
    "waits",
    "will_not_run",
    "did_not_run",
    "not_expected",
)
GOOD_STATES = frozenset({"ran", "runs", "will_run"})


@dataclass(frozen=True, slots=True)
class Fix:
    """A remedy in a short sentence, the API call for it, and a console page."""

    text: str
    call: str = ""
    page: str = ""
    subject: UUID | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the checklist.

    ``says`` is a clause without capital and full stop, which a verdict can end with; ``more``
    are further sentences. ``until`` is when a check that stops or waits will pass, if known.
    ``not_yet`` marks a check that passes by itself with time; its ``ok`` is None.
    """

    name: str
    ok: bool | None
    says: str
    more: str = ""
    fix: Fix | None = None
    until: datetime | None = None
    not_yet: bool = False

    @property
    def holds_up(self) -> bool:
        """Whether the instant cannot start before this check passes."""
        return self.ok is False or self.not_yet

    @property
    def evidence(self) -> str:
        """Return the facts as sentences."""
        return " ".join(part for part in (f"{capitalised(self.says)}.", self.more) if part)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one instant ran, did not run or waits."""

    task_id: UUID
    task_name: str
    asked_at: datetime
    scheduled_for: datetime
    execution_id: UUID | None
    state: str
    verdict: str
    checks: Sequence[Check]
    estimated_start: datetime | None
    #: Why there is no estimate of a start that is waited for; "" otherwise.
    no_estimate: str = ""
    #: How far the task's latest starts were from estimates like this one, where that is known.
    estimate_error: EstimateError | None = None
    #: The run of a workflow that it is a part of.
    part: RunPart | None = None

    @property
    def first_blocker(self) -> Check | None:
        """The first check that stops or stopped it."""
        return next((check for check in self.checks if check.ok is False), None)


def present_explanation(found: Explanation) -> dict[str, Any]:
    """Return the explanation as the API answers it."""
    blocker = found.first_blocker
    return {
        "task_id": str(found.task_id),
        "task_name": found.task_name,
        "execution_id": str(found.execution_id) if found.execution_id else None,
        "asked_at": format_instant(found.asked_at),
        "scheduled_for": format_instant(found.scheduled_for),
        "state": found.state,
        "verdict": found.verdict,
        "checks": [_check(check) for check in found.checks],
        "first_blocker": blocker.name if blocker else None,
        "estimated_start": format_instant(found.estimated_start) if found.estimated_start else None,
        "no_estimate": found.no_estimate or None,
        "estimate_error_ms": _error(found.estimate_error),
    }


def _error(found: EstimateError | None) -> dict[str, float | int] | None:
    return (
        None if found is None else {"p50": found.p50_ms, "p90": found.p90_ms, "count": found.count}
    )


def _check(check: Check) -> dict[str, Any]:
    fix = check.fix
    return {
        "check": check.name,
        "ok": check.ok,
        "not_yet": check.not_yet,
        "evidence": check.evidence,
        "fix": fix.text if fix else None,
        "call": (fix.call or None) if fix else None,
    }


def capitalised(text: str) -> str:
    """Return a clause as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def told(moment: datetime) -> str:
    """Return a moment as evidence names it, milliseconds only where there are any."""
    return clock_text(moment, "auto")


def spell(duration: timedelta) -> str:
    """Return a length of time as people say it: ``4.2 s``, ``3 m 5 s``, ``2 h 10 m``, ``3 d``."""
    seconds = abs(duration.total_seconds())
    if seconds < 60:
        return f"{seconds:.1f}".rstrip("0").rstrip(".") + " s"
    whole = int(seconds)
    parts = [
        (whole // 86_400, "d"),
        (whole // 3600 % 24, "h"),
        (whole // 60 % 60, "m"),
        (whole % 60, "s"),
    ]
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)
