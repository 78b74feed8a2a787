"""Small regular jobs: days ahead, retention, the ledger's floor, expired keys of idempotency."""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError, connection, transaction
from psycopg import sql

from executions.engine import ledger, minute_stats, worker_history
from executions.engine.clocks import database_now
from executions.workers import registry
from shared.conf import conf
from shared.sql import rows, run, statement
from tenants.models import IdempotencyRecord

log = logging.getLogger(__name__)


def run_once() -> dict[str, int]:
    """Do every job once; return what each did. Repeating it at any time does no harm."""
    now = database_now()
    made = ledger.ensure_days_ahead(now)
    floor = ledger.raise_floor(now)
    dropped = drop_old_days()
    expired, _ = IdempotencyRecord.objects.filter(expires_at__lt=now).delete()
    forgotten = registry.forget_old()
    done = {
        "days_made": made,
        "days_dropped": dropped,
        "minutes_dropped": minute_stats.prune(now - timedelta(days=conf().retention_days)),
        "keys": expired,
        "workers": forgotten,
        "worker_minutes": worker_history.prune(now - worker_history.KEPT),
    }
    log.info("house_kept", extra={**done, "floor": str(floor)})
    return done


def drop_old_days() -> int:
    """Drop whole days past the retention; a day with unfinished work stays (L2)."""
    oldest = database_now() - timedelta(days=conf().retention_days)
    kept = f"{oldest:%Y%m%d}"
    dropped = 0
    for parent in ledger.DAILY_TABLES:
        for (table,) in rows("prune/existing_days", {"parent": parent}):
            day = table.rpartition("_")[2]
            if day < kept:
                dropped += _drop(table, ledger.day_end_id(day))
    return dropped


def _drop(table: str, end: UUID) -> bool:
    """Drop a day's table unless the floor lies below its end; the next run tries again.

    The floor's row stays locked meanwhile: whoever writes old instants lowers it first.
    """
    try:
        with transaction.atomic():
            run("prune/wait_briefly")
            if ledger.lock_floor() < end:
                return False
            with connection.cursor() as cursor:
                text = sql.SQL(statement("prune/drop_day"))
                cursor.execute(text.format(table=sql.Identifier(table)))
    except OperationalError as error:
        # A long reader holds the day; everybody else would queue behind the drop.
        log.warning("day_not_dropped", extra={"table": table, "reason": str(error)})
        return False
    return True
