"""What the demo tenant shows: its tasks, and the past that is made up for some of them.

Pure data and arithmetic; :mod:`scheduler_site.demo` creates it. All tasks call the built-in test
receiver and carry the label ``demo``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from executions.services.history_samples import Sample
from shared.instants import format_instant

LABEL = "demo"
PAUSED = "Paused import"
PAUSE_NOTE = "Demo: waits for the new supplier file"
#: Run at once, so that their failures are there to be looked at.
FAILING = ("Always fails (HTTP 500)", "Never answered", "Too many requests", "Redirect to inside")
INVOICES, WAREHOUSE, NEWSLETTER = "Invoices", "Warehouse sync", "Newsletter"
#: The last hour stays free of made-up rows, so that what the screens say of it is true.
HISTORY_BEGINS, HISTORY_ENDS = timedelta(hours=24), timedelta(hours=1)
_FAR = timedelta(days=1100)
_FAILING_EVERY = {"every": "PT30M"}


def bodies(receiver_url: str, now: datetime) -> list[dict[str, Any]]:
    """Return the definitions, as the API takes them."""
    base = receiver_url.rstrip("/")
    return [_body(base, name, *parts) for name, *parts in (*_living(now), *_failing(), *_past())]


def _living(now: datetime) -> Iterator[tuple[Any, ...]]:
    yield "Every 5 seconds", "/ok", {"every": "PT5S"}, {}
    paris = {"cron_expression": "30 8 * * MON-FRI", "timezone": "Europe/Paris"}
    yield "Morning report in Paris", "/ok", paris, {}
    yield "Once, in a minute", "/ok", {"delay_seconds": 60}, {}
    yield PAUSED, "/ok", {"cron_expression": "*/5 * * * *"}, {}
    yield "High priority", "/slow?ms=200", {"every": "PT15S"}, {"priority": 0}
    yield "Every 20 seconds (six fields)", "/ok", {"cron_expression": "*/20 * * * * *"}, {}
    yield "Once, in three years", "/ok", {"run_at": format_instant(now + _FAR)}, {}
    flaky = {"retry_policy": {"max_attempts": 3, "initial_delay_seconds": 2}}
    yield "Flaky: succeeds on the third try", "/flaky?fail=2", {"every": "PT1M"}, flaky


def _failing() -> Iterator[tuple[Any, ...]]:
    twice = {"retry_policy": {"max_attempts": 2, "initial_delay_seconds": 3}}
    once = {"retry_policy": {"max_attempts": 1}}
    always, silent, crowded, inside = FAILING
    yield always, "/500", _FAILING_EVERY, twice
    yield silent, "/timeout", _FAILING_EVERY, {**once, "timeout_seconds": 3}
    yield crowded, "/429?after=2", _FAILING_EVERY, twice
    yield inside, "/redirect?to=http://169.254.169.254/latest", _FAILING_EVERY, once


def _past() -> Iterator[tuple[Any, ...]]:
    history = {"labels": {LABEL: "history"}}
    yield INVOICES, "/ok", {"cron_expression": "*/15 * * * *"}, history
    yield WAREHOUSE, "/slow?ms=300", {"cron_expression": "*/20 * * * *"}, history
    yield NEWSLETTER, "/ok", {"cron_expression": "5 * * * *"}, history


def _body(
    base: str, name: str, path: str, schedule: Mapping[str, Any], parts: Mapping[str, Any]
) -> dict[str, Any]:
    own = dict(parts)
    target = {"url": f"{base}{path}", "timeout_seconds": own.pop("timeout_seconds", 10)}
    return {
        "name": name,
        "schedule": dict(schedule),
        "target": target,
        "payload": {"demo": name},
        "labels": {LABEL: "live"},
        **own,
    }


def history(task_ids: Mapping[str, UUID], now: datetime) -> list[Sample]:
    """Return the made-up past of the tasks that have one, with three causes of failure."""
    return [
        *_samples(task_ids[INVOICES], now, minutes=5, trouble=(_UNAVAILABLE, 8.0, 9.0)),
        *_samples(task_ids[WAREHOUSE], now, minutes=10, trouble=(_SILENT, 14.0, 14.9)),
        *_samples(task_ids[NEWSLETTER], now, minutes=20, trouble=(_REFUSED, 19.0, 20.0)),
    ]


_UNAVAILABLE = {
    "answer": 503,
    "error_code": "http_status",
    "error_message": "The answer was 503.",
    "body": b'{"error": "maintenance", "retry": "later"}',
    "duration_ms": 40.0,
}
_SILENT = {
    "answer": None,
    "error_code": "timeout_total",
    "error_message": "No complete answer within 10 s.",
    "duration_ms": 10_000.0,
}
_REFUSED = {
    "answer": None,
    "error_code": "connection_refused",
    "error_message": "Nobody listens at the receiver's port.",
    "duration_ms": 2.0,
}


def _samples(
    task_id: UUID, now: datetime, *, minutes: int, trouble: tuple[dict[str, Any], float, float]
) -> Iterator[Sample]:
    """Yield one sample per interval; those of the hours of trouble failed for its cause."""
    failure, begins, ends = trouble
    start = (now - HISTORY_BEGINS).replace(second=0, microsecond=0) + timedelta(minutes=1)
    step = timedelta(minutes=minutes)
    count = (HISTORY_BEGINS - HISTORY_ENDS - timedelta(minutes=5)) // step
    for number in range(count):
        at = start + number * step
        chance = _chance(task_id, number)
        sample = Sample(task_id, at, 2.0 + 30.0 * chance**4, 20.0 + 180.0 * chance)
        failed = begins <= number * minutes / 60 < ends
        yield replace(sample, attempts=2, **failure) if failed else sample


def _chance(task_id: UUID, number: int) -> float:
    """Return a number from 0 to 1 that looks random and is the same every time."""
    digest = hashlib.blake2b(task_id.bytes + number.to_bytes(4, "big"), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32
