"""Short ways to write instants and schedules in these tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tasks.schedules.spec import Spec, parse


def utc(text: str) -> datetime:
    """Return an instant from '2027-03-14 07:00' or '2027-03-14 07:00:30' in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(expression: str, zone: str = "UTC", **schedule: Any) -> Spec:
    """Return a cron schedule."""
    return parse(
        "RECURRING", {"cron_expression": expression, "timezone": zone, **schedule}, seed="seed"
    )


def every(duration: str, start: str = "2026-11-20 00:00", **schedule: Any) -> Spec:
    """Return a fixed-rate schedule."""
    return parse("RECURRING", {"every": duration, **schedule}, anchor=utc(start))


def once(at: str, **schedule: Any) -> Spec:
    """Return a one-time schedule."""
    return parse("ONE_TIME", {"run_at": utc(at).isoformat(), **schedule})


def next_at(spec: Spec, moment: datetime) -> datetime | None:
    """Return the first instant strictly after a moment."""
    following = spec.next_after(moment)
    return following.at if following else None


def fires(spec: Spec, after: str, until: str, limit: int = 1000) -> list[str]:
    """Return the instants in (after, until] as short text."""
    found = spec.between(utc(after), utc(until), limit)
    return [f"{occurrence.at:%m-%d %H:%M:%S}".removesuffix(":00") for occurrence in found]
