"""Small regular jobs: days ahead, retention, expired idempotency keys."""

from __future__ import annotations

import logging
from datetime import timedelta

from executions.housekeeping import worker_history
from executions.ledger import days as ledger
from executions.ledger import (
    minute_stats,
    objectives,
    retention,
    task_targets,
    tenant_retention,
    usage_days,
)
from executions.loop.clocks import database_now
from executions.models import ShareMinute, UnownedStretch
from shared.conf import conf
from tasks.named_secrets.uses import forget_ended
from tenants.models import IdempotencyRecord
from wire import heartbeats

log = logging.getLogger("executions.engine.housekeeping")

#: How long the minutes of shares are kept; a scarce pool has a row for each tenant and minute.
_SHARES_KEPT = timedelta(days=7)


def run_once() -> dict[str, int]:
    """Do every job once; return the count of each. Repeating it at any time does no harm."""
    now = database_now()
    made = ledger.ensure_days_ahead(now)
    expired, _ = IdempotencyRecord.objects.filter(expires_at__lt=now).delete()
    forgotten = heartbeats.forget_old()
    oldest = now - timedelta(days=conf().retention_days)
    # Before the minutes go.
    minutes_before = usage_days.roll_up(now, oldest)
    done = {
        "days_made": made,
        "outages": UnownedStretch.objects.filter(until__lt=oldest).delete()[0],
        "minutes_dropped": minute_stats.prune(minutes_before),
        "usage_days_dropped": usage_days.prune(now),
        "objective_rows_folded": objectives.fold(now),
        "objective_rows_dropped": objectives.prune(now) + task_targets.prune(now),
        "share_minutes": ShareMinute.objects.filter(minute__lt=now - _SHARES_KEPT).delete()[0],
        "keys": expired,
        "secret_uses": forget_ended(),
        "workers": forgotten,
        "worker_minutes": worker_history.prune(now - worker_history.KEPT),
        "worker_hours": worker_history.prune_hours(now - worker_history.HOURS_KEPT),
        "tenant_rows_dropped": tenant_retention.remove_old(now),
        # Last: where an archive is kept, it may take minutes.
        "days_dropped": drop_old_days(),
    }
    log.info("house.kept", extra=done)
    return done


def drop_old_days() -> int:
    """Drop whole days past the retention; a day with unfinished work stays."""
    oldest = database_now() - timedelta(days=conf().retention_days)
    return retention.drop_days(f"{oldest:%Y%m%d}")
