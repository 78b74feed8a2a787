"""A server of its own whose clock stands still, so that answers depend on nothing but the rows.

PostgreSQL finds ``now()``, its siblings and ``uuidv7()`` in a schema that comes before its own;
Django's clock is patched. Ids, keys and times are given, and secrets are those of the tests'
settings.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

#: A Wednesday; no clock changes within weeks of it but those of the autumn, on 25 October.
NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
#: The ledger holds this many days before now, and two after.
DAYS_BEFORE = 12
_CLOCKS = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp")


def fixed_id(at: datetime, kind: int, number: int) -> UUID:
    """Return an id that sorts by its time, and is the same in each run."""
    return UUID(f"{int(at.timestamp() * 1000):012x}-7{kind:03x}-8000-{number:012x}")


@contextmanager
def standing() -> Iterator[None]:
    """Start PostgreSQL and Valkey on an empty installation whose clocks stand; stop them."""
    from tests.support.servers import start_servers

    with tempfile.TemporaryDirectory(prefix="punctual-answers-") as scratch:
        database_url, redis_url, stop = start_servers(Path(scratch))
        try:
            _enter(database_url, redis_url, scratch)
            with patch("django.utils.timezone.now", lambda: NOW):
                yield
        finally:
            from django.db import connections

            connections.close_all()
            stop()


def _enter(database_url: str, redis_url: str, scratch: str) -> None:
    os.environ |= {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "TEST_DATA_DIR": scratch,
        "DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test",
    }
    import django

    django.setup()
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    setup_test_environment(debug=False)
    call_command("migrate", verbosity=0)
    _make_days()
    _stop_clock()


def _make_days() -> None:
    from executions.ledger import days as ledger

    ledger.make_days(NOW + timedelta(days=ahead) for ahead in range(-DAYS_BEFORE, 3))


def _stop_clock() -> None:
    """Let every later session find a clock that stands before PostgreSQL's own."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA frozen")
        for name in _CLOCKS:
            cursor.execute(
                f"CREATE FUNCTION frozen.{name}() RETURNS timestamptz LANGUAGE sql STABLE"
                f" AS $$ SELECT '{NOW.isoformat()}'::timestamptz $$"
            )
        cursor.execute("CREATE SEQUENCE frozen.ids")
        cursor.execute(
            "CREATE FUNCTION frozen.uuidv7() RETURNS uuid LANGUAGE sql AS $$ SELECT ("
            f" '{int(NOW.timestamp() * 1000):012x}'"
            " || '7' || lpad(to_hex(nextval('frozen.ids')), 3, '0')"
            " || '8000000000000000')::uuid $$"
        )
        # A default has found its function when its table was made.
        cursor.execute("ALTER TABLE events ALTER COLUMN at SET DEFAULT frozen.clock_timestamp()")
        database = connection.settings_dict["NAME"]
        cursor.execute(f'ALTER DATABASE "{database}" SET search_path = frozen, pg_catalog, public')
    connection.close()
