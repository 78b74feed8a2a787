"""Tasks of every kind, with fixed ids and times.

The product's own creation writes the definition; :func:`settle` then writes what became of the
task, and is the only place that knows which columns hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bench.answers.stand import NOW, fixed_id

if TYPE_CHECKING:
    from tasks.models import Task
    from tenants.models import Tenant

_DAY = timedelta(days=1)
_HOOK = {"url": "https://api.example.com/reports"}
#: Made before the oldest day of the history.
CREATED = NOW - 20 * _DAY


@dataclass(frozen=True, slots=True)
class Planned:
    """A task to make: its body, its columns afterwards, and how its history looks."""

    name: str
    schedule: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    #: Distance of its instants in the history; None: one, at its time.
    step: timedelta | None = None
    count: int = 0
    #: How long before now the latest one is; None: a step.
    ago: timedelta | None = None


def plans() -> Iterator[Planned]:
    """Yield every task of a tenant, in the order in which they are made."""
    yield from _one_time()
    yield from _recurring()
    yield from _bounded()
    yield from _policies()
    yield from _targets()


def _at(moment: datetime) -> dict[str, str]:
    return {"run_at": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}


def _one_time() -> Iterator[Planned]:
    over: dict[str, Any] = {"next_run_at": None}
    for number, hours in enumerate((1, 5, 30, 200, 2000)):
        labels = {"team": f"team-{number % 3}"}
        yield Planned(f"Ahead {number}", _at(NOW + timedelta(hours=hours)), {"labels": labels})
    for number, status in enumerate(
        ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "FAILED", "CANCELLED", "RUNNING")
    ):
        at = NOW - timedelta(days=number, hours=2)
        yield Planned(f"Past {number}", _at(at), {}, {**over, "status": status}, count=1)
    paused = {"status": "PAUSED", "paused_at": NOW - _DAY, "pause_note": "Wait for the audit."}
    yield Planned("Paused ahead", _at(NOW + 3 * _DAY), {}, paused)
    yield Planned("Cancelled ahead", _at(NOW + 4 * _DAY), {}, {**over, "status": "CANCELLED"})
    deleted = {**over, "status": "COMPLETED", "deleted_at": NOW - _DAY}
    yield Planned("Deleted", _at(NOW - 2 * _DAY), {}, deleted, count=1)


def _recurring() -> Iterator[Planned]:
    hour, day = timedelta(hours=1), _DAY
    yield Planned("Each hour", {"every": "PT1H"}, {"priority": 1}, {}, hour, 60)
    yield Planned("Each ten minutes", {"every": "PT10M"}, {"priority": 8}, {}, hour / 6, 40)
    yield Planned(
        "Daily in Berlin",
        {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"},
        {"labels": {"team": "billing", "tier": "gold"}, "owner": "ann@example.com"},
        {}, day, 10, 5 * hour,
    )  # fmt: skip
    yield Planned("Each month", {"cron_expression": "30 6 1 * *", "timezone": "America/New_York"})
    yield Planned(
        "Without holidays",
        {"cron_expression": "0 9 * * *", "calendars": ["Holidays"]},
        {}, {}, day, 8, 3 * hour,
    )  # fmt: skip
    yield Planned(
        "Moved by a calendar",
        {
            "cron_expression": "0 10 * * *",
            "calendars": ["Holidays"],
            "calendar_policy": "next_business_day",
        },
    )
    yield Planned("Third working day", {"cron_expression": "0 7 * * *", "working_day": 3})
    yield Planned("With jitter", {"every": "PT2H", "jitter_seconds": 600}, {}, {}, 2 * hour, 10)


def _bounded() -> Iterator[Planned]:
    """Yield recurring tasks that have ended, begin later, are paused or were deleted."""
    hour = timedelta(hours=1)
    ended = {"next_run_at": None, "status": "COMPLETED", "occurrence_count": 3}
    yield Planned("Three times", {"every": "PT6H", "max_occurrences": 3}, {}, ended, 6 * hour, 3)
    yield Planned("Until December", {"every": "PT12H", "end_at": "2026-12-01T00:00:00Z"})
    yield Planned("From December", {"every": "PT12H", "start_at": "2026-12-01T00:00:00Z"})
    pause: dict[str, Any] = {"status": "PAUSED", "paused_at": NOW - 2 * _DAY}
    until = {**pause, "paused_until": NOW + _DAY, "on_resume": "replay"}
    yield Planned("Paused", {"every": "PT3H"}, {}, {**pause, "pause_note": "Moved."}, 3 * hour, 6)
    yield Planned("Paused until", {"every": "PT4H"}, {}, until, 4 * hour, 4)
    yield Planned(
        "Cancelled",
        {"every": "PT5H"},
        {},
        {"next_run_at": None, "status": "CANCELLED"},
        5 * hour,
        5,
    )
    yield Planned(
        "Deleted later",
        {"every": "PT5H"},
        {},
        {"next_run_at": None, "deleted_at": NOW},
        5 * hour,
        3,
    )
    streak = {"failure_streak": 2}
    yield Planned(
        "Fails",
        {"every": "PT8H"},
        {"retry_policy": {"pause_after_failures": 5}},
        streak,
        8 * hour,
        6,
    )


def _policies() -> Iterator[Planned]:
    hour = timedelta(hours=1)
    for policy in ("skip", "queue_one", "queue_all", "cancel_running"):
        schedule = {"every": "PT1H", "overlap_policy": policy, "max_concurrent": 1}
        yield Planned(f"Overlap {policy}", schedule, {}, {}, hour, 8)
    for policy in ("skip", "coalesce", "replay"):
        yield Planned(
            f"Missed {policy}", {"every": "PT1H", "misfire_policy": policy}, {}, {}, hour, 6
        )
    yield Planned("Five at once", {"every": "PT5M", "max_concurrent": 5}, {}, {}, hour / 12, 12)


def _targets() -> Iterator[Planned]:
    hour = timedelta(hours=1)
    for number in range(3):
        target = {"kind": "pool", "pool": "batch", "handler": "make_invoice"}
        yield Planned(f"Pulled {number}", {"every": "PT2H"}, {"target": target}, {}, 2 * hour, 6)
    template = {"url": "https://api.example.com/in?at={{ scheduled_for }}", "template": True}
    targets: dict[str, Any] = {
        "Templated": template,
        "With basic auth": {**_HOOK, "auth": {"type": "basic", "username": "u", "password": "p"}},
        "With bearer": {**_HOOK, "auth": {"type": "bearer", "token": "t-secret"}},
        "With headers": {**_HOOK, "method": "PUT", "headers": {"X-Team": "one", "X-Api-Key": "k"}},
        "Answers later": {**_HOOK, "completion": "callback"},
        "Limited": {"url": "https://slow.example.com/in"},
        "With a log": {"kind": "handler", "handler": "reports.monthly"},
    }
    for name, target in targets.items():
        yield Planned(name, {"every": "PT3H"}, {"target": target}, {}, 3 * hour, 5)
    yield Planned("Text", {"every": "PT9H"}, {"payload": "as it is"})


def make_tasks(tenant: Tenant, kind: int) -> list[tuple[Planned, Task]]:
    """Create the tenant's tasks; ``kind`` tells its ids from another tenant's."""
    return [
        (plan, _make(tenant, plan, fixed_id(CREATED + number * timedelta(minutes=1), kind, number)))
        for number, plan in enumerate(plans())
    ]


def _make(tenant: Tenant, plan: Planned, task_id: UUID) -> Task:
    from shared.actor import Actor
    from shared.ids import moment_of
    from tasks.calendars import limits_of
    from tasks.creation import create_task
    from tasks.models import Task
    from tasks.validation.bodies import parse_create

    # Intervals count from here, so that the instants of the history are the schedule's.
    begin = {"start_at": f"{CREATED:%Y-%m-%dT%H:%M:%SZ}"} if "every" in plan.schedule else {}
    body = {
        "name": plan.name,
        "schedule": {**begin, **plan.schedule},
        "target": dict(_HOOK),
        "payload": {"report": plan.name},
        **plan.more,
    }
    created = moment_of(task_id)
    definition = parse_create(body, now=created, limits=limits_of(tenant.id))
    actor = Actor("recorder", "127.0.0.1", "0" * 32)
    create_task(tenant.id, definition, actor=actor, now=NOW, task_id=task_id)
    settle(task_id, {"created_at": created, "updated_at": created, **plan.state})
    return Task.objects.get(pk=task_id)


def settle(task_id: UUID, columns: Mapping[str, Any]) -> None:
    """Write what became of a task: its state, its next instant, its last run."""
    from tasks.models import Task

    task = Task.objects.get(pk=task_id)
    for name, value in columns.items():
        setattr(task, name, value)
    task.save()
