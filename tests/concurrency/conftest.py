"""Rows that are really committed, and a second session beside the test's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from executions.ledger import days
from executions.loop.clocks import database_now
from executions.models import PartitionLease
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import make_tenant

pytest.register_assert_rewrite("tests.concurrency.pair_invariants")


@pytest.fixture
def ground(transactional_db: None) -> None:
    """Put back what migrations make and the flush after each of these tests takes away."""
    PartitionLease.objects.bulk_create(
        [PartitionLease(partition=number) for number in range(conf().partition_count)],
        ignore_conflicts=True,
    )
    PartitionLease.objects.update(owner=None, expires_at=None)
    days.ensure_days_ahead(database_now())


@pytest.fixture
def alpha(ground: None) -> Tenant:
    return make_tenant("Alpha")


class Beside:
    """Work that runs in a session of its own; ``join`` returns its result or raises."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None
        self.pid = 0
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    def _run(self) -> None:
        try:
            connection.ensure_connection()
            self.pid = connection.connection.info.backend_pid
            self._started.set()
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again where it is joined
            self._error = error
        finally:
            self._started.set()
            connections.close_all()

    def join(self, patience: float = 30.0) -> Any:
        self._thread.join(patience)
        assert not self._thread.is_alive()
        if self._error:
            raise self._error
        return self._result

    def waits_for_a_lock(self) -> bool:
        """Wait until the session waits for somebody's lock; say whether it came to that."""
        # Asked in a session of its own: the test's may be in the middle of a transaction.
        return bool(Beside(lambda: _blocked(self.pid, self._thread)).join())


def _blocked(pid: int, thread: threading.Thread) -> bool:
    while thread.is_alive():
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)), pg_sleep(0.01)", [pid])
            if cursor.fetchone()[0]:
                return True
    return False


@pytest.fixture
def beside() -> Callable[[Callable[[], Any]], Beside]:
    """Start work in a second session."""
    return Beside
