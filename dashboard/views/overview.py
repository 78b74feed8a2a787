"""The overview: due and running work, failures, next fires, and the way to a first working task."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, page
from dashboard.pictures.delays import MinuteDelays
from dashboard.pictures.fires import FireMinute
from dashboard.pictures.throughput import MinuteOutcomes
from dashboard.views.demo import may_break
from executions.models import DeadLetter, Execution
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from insight.forecast.hour import MINUTES, hour_ahead
from insight.statistics.future import next_fires
from insight.statistics.minutes import MinutePoint, bound_text, throughput
from insight.statistics.present import MOST_COUNTED, running_now
from insight.statistics.present import overview as read_overview
from tasks.models import Task
from tasks.schedules.minutes import MINUTE
from tenants.choices import Role
from tenants.models import ApiKey

_FIRES = 6
_RUNNING = 8
_GROUPS = 5


@page(Role.VIEWER)
def overview(request: ConsoleRequest) -> HttpResponse:
    """Show the tenant's work at this moment and in the last hour."""
    tenant = request.visitor.tenant.pk
    now = read_overview(tenant)
    points = throughput(tenant)
    letters = DeadLetter.objects.for_tenant(tenant).filter(resolved=False)
    return render(
        request,
        "dashboard/overview.html",
        {
            "now": now,
            "most_counted": MOST_COUNTED,
            "success_percent": _percent(now.success_rate),
            "p95": _bound(now.start_delay.p95),
            "outcomes": [_outcomes(point) for point in points],
            "delays": [MinuteDelays(point.minute, point.start_delays) for point in points],
            "delay_bounds": START_DELAY_BUCKETS_MS,
            **_coming(tenant, now.at),
            "next_fires": next_fires(tenant, _FIRES),
            "running": running_now(tenant, _RUNNING),
            "groups": list(letters.grouped_by_signature()[:_GROUPS]),
            "steps": _first_steps(request),
            "may_break": may_break(request),
        },
    )


def _bound(bound: float | None) -> str:
    return "–" if bound is None else bound_text(bound)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f} %".replace(".0 %", " %")


def _outcomes(point: MinutePoint) -> MinuteOutcomes:
    return MinuteOutcomes(point.minute, point.succeeded, point.retried, point.failed)


def _coming(tenant: UUID, now: datetime) -> dict[str, Any]:
    """Return the starts of the coming hour, and the words about their accuracy."""
    found = hour_ahead(tenant, now)
    moments = [found.start + number * MINUTE for number in range(MINUTES)]
    return {
        "fires": [FireMinute(at, found.starts.get(place, 0)) for place, at in enumerate(moments)],
        "fires_sign": "≥" if not found.complete else "≈" if found.estimated else "",
        "fires_at": found.counted_at if found.counted_at != now else None,
    }


def _first_steps(request: ConsoleRequest) -> list[dict[str, Any]]:
    """Return the steps to a first working task and whether each is done; [] once all are."""
    tenant = request.visitor.tenant.pk
    has_task = Task.objects.for_tenant(tenant).exists()
    ran = has_task and Execution.objects.for_tenant(tenant).filter(status="SUCCEEDED").exists()
    own_keys = ApiKey.objects.filter(tenant_id=tenant, revoked_at=None, last_used_at__isnull=False)
    steps: list[dict[str, Any]] = [
        {
            "label": "Create a task",
            "text": "Paste a crontab line or a curl command, or start with an example.",
            "url": f"{reverse('dashboard:task_new')}?example=1"
            if request.visitor.may_edit
            else reverse("dashboard:tasks"),
            "done": has_task,
        },
        {
            "label": "See it run",
            "text": "Every run appears here with its start delay, to the millisecond.",
            "url": reverse("dashboard:executions"),
            "done": ran,
        },
        {
            "label": "Choose how failures reach you",
            "text": "As a toast, by e-mail or as a push message, from the first failure on.",
            "url": reverse("dashboard:settings"),
            "done": hasattr(request.visitor.membership, "notification_preference"),
        },
        {
            "label": "Call the API with a key",
            "text": "Make one in Settings, API keys. The API is described in its own page."
            if request.visitor.may_edit
            else "An admin makes one in Settings. The API is described in its own page.",
            "url": reverse("dashboard:api_keys") if request.visitor.may_edit else "/v1/docs/",
            "done": own_keys.exists(),
        },
    ]
    return [] if all(step["done"] for step in steps[:2]) else steps
