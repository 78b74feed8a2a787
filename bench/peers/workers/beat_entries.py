"""Writes the entries of django-celery-beat: one clocked, one-off periodic task for each call."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import django

from bench.peers.plan import Plan, body


def write(plan: Plan) -> None:
    """Write the entries in bulk and tell beat, as its documentation says to do then."""
    from django_celery_beat.models import ClockedSchedule, PeriodicTask, PeriodicTasks

    moments = sorted({plan.due_ms(number) for number in range(plan.count)})
    clocks = {
        at_ms: ClockedSchedule.objects.create(
            clocked_time=datetime.fromtimestamp(at_ms / 1000, UTC)
        )
        for at_ms in moments
    }
    PeriodicTask.objects.bulk_create(
        PeriodicTask(
            name=f"webhook {number} at {plan.at_ms}",
            task="peers.call",
            clocked=clocks[plan.due_ms(number)],
            one_off=True,
            args=json.dumps([plan.url_of(number), body(number)]),
        )
        for number in range(plan.count)
    )
    PeriodicTasks.update_changed()


if __name__ == "__main__":
    django.setup()
    write(Plan.from_line(sys.stdin.read()))
