"""The database's ``now()``, which stands still at the begin of a test's transaction."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def transaction_now() -> datetime:
    """Return the moment at which this transaction began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        found: datetime = cursor.fetchone()[0]
    return found
