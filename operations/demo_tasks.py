"""The content of the demo tenant: its tasks, and a made-up past of some of them.

Pure data and arithmetic; :mod:`operations.demo` creates it. All tasks call the built-in test
receiver and carry the label ``demo``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from operations.history_samples import Sample
from shared.backoff import delay_seconds
from shared.instants import format_instant
from tasks.definition import Definition
from tasks.schedules.spec import parse

LABEL = "demo"
PAUSED = "Paused import"
PAUSE_NOTE = "Demo: waits for the new supplier file"
#: Run at once, so that people find their failures.
FAILING = ("Always fails (HTTP 500)", "Never answered", "Too many requests", "Redirect to inside")
INVOICES, WAREHOUSE, NEWSLETTER = "Invoices", "Warehouse sync", "Newsletter"
#: The last hour stays free of made-up rows, so that the screens show only true figures of it.
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
    # Waits without jitter, so that the made-up attempts can keep to them.
    retries = {"max_attempts": 2, "backoff": "fixed", "initial_delay_seconds": 5, "jitter": "none"}
    parts = {"labels": {LABEL: "history"}, "retry_policy": retries}
    yield INVOICES, "/ok", {"cron_expression": "*/5 * * * *"}, parts
    yield WAREHOUSE, "/slow?ms=300", {"cron_expression": "*/10 * * * *"}, parts
    yield NEWSLETTER, "/ok", {"cron_expression": "5 * * * *"}, parts


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


def history(
    ids: Mapping[str, UUID], definitions: Mapping[str, Definition], now: datetime
) -> list[Sample]:
    """Return the made-up past of the tasks that have one, with three causes of failure.

    It agrees with their definitions: the instants of the schedule, the attempts and waits of the
    retry policy, no call longer than the timeout.
    """
    return [
        sample
        for name, (failure, *hours) in _TROUBLE.items()
        for sample in _samples(ids[name], definitions[name], now, failure, hours)
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
    "error_message": "The answer was not complete in time.",
    "duration_ms": 10_000.0,
}
_REFUSED = {
    "answer": None,
    "error_code": "connection_refused",
    "error_message": "The receiver does not accept connections.",
    "duration_ms": 2.0,
}
#: What went wrong in which hours of the history.
_TROUBLE: dict[str, tuple[Any, ...]] = {
    INVOICES: (_UNAVAILABLE, 8.0, 9.0),
    WAREHOUSE: (_SILENT, 14.0, 14.9),
    NEWSLETTER: (_REFUSED, 18.0, 20.0),
}
_MOST = 24 * 60


def _samples(
    task_id: UUID, known: Definition, now: datetime, failure: dict[str, Any], hours: list[float]
) -> Iterator[Sample]:
    """Yield one sample per instant; those of the hours of trouble failed on every attempt."""
    begins, policy = now - HISTORY_BEGINS, known.retry_policy
    ends = now - HISTORY_ENDS - timedelta(minutes=5)
    limits: dict[str, Any] = {
        "max_attempts": policy["max_attempts"],
        "timeout_seconds": known.target["timeout_seconds"],
        "retry_after_seconds": delay_seconds(policy, 1, lambda: 0.0),
    }
    instants = parse(known.type, known.schedule).between(begins, ends, _MOST)
    for number, instant in enumerate(instants):
        chance = _chance(task_id, number)
        delay_ms, duration_ms = 2.0 + 30.0 * chance**4, 20.0 + 180.0 * chance
        sample = Sample(task_id, instant.at, delay_ms, duration_ms, **limits)
        into = (instant.at - begins) / timedelta(hours=1)
        failed = hours[0] <= into < hours[1]
        yield replace(sample, attempts=policy["max_attempts"], **failure) if failed else sample


def _chance(task_id: UUID, number: int) -> float:
    """Return a number from 0 to 1 that looks random and is the same every time."""
    digest = hashlib.blake2b(task_id.bytes + number.to_bytes(4, "big"), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32
