"""Counts the answers of the API by tenant, for its objective, so that they survive every restart.

A process counts in memory and adds its counts to PostgreSQL once a minute, in one statement, and
when it stops: one that is killed loses its last minute. Answers count in the minute in which they
are added, by the database's clock. While the database is away they wait. An answer counts for the
tenant of its key or token; one to a caller without either counts for the installation only.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from uuid import UUID

from django.db import Error, connection

from executions.ledger import objectives
from executions.ledger.objectives import Answers
from shared import tenant_scope
from shared.tenant_scope import NO_TENANT, Purpose

log = logging.getLogger(__name__)

#: Interval between two additions of one process.
ADDED_EVERY_SECONDS = 60.0
#: Operations that are no calls of the API: the admin, what no route answers, and what machines ask
#: of a process. Nor are pages of the console. The rules for Prometheus leave out the same.
LEFT_OUT = ("admin", "none", "healthz", "readyz", "metrics")
CONSOLE = "console:"
_SERVER_ERRORS = range(500, 600)


class _Process:
    """What this process has counted since it last added its counts."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.answers: Counter[UUID] = Counter()
        self.errors: Counter[UUID] = Counter()
        self.added_at = time.monotonic()


_process = _Process()
_flushing = threading.Lock()


def is_of_api(operation: str) -> bool:
    """Return whether an operation, as requests are counted, is a call of the API."""
    return operation not in LEFT_OUT and not operation.startswith(CONSOLE)


def count(operation: str, tenant_id: UUID | None, status: int) -> None:
    """Count an answer, if the operation is a call of the API."""
    if not is_of_api(operation):
        return
    tenant = tenant_id or NO_TENANT
    with _process.lock:
        _process.answers[tenant] += 1
        _process.errors[tenant] += status in _SERVER_ERRORS


def is_due() -> bool:
    """Return whether there are counts to add, and the last ones were added a minute ago."""
    waits = time.monotonic() - _process.added_at >= ADDED_EVERY_SECONDS
    return waits and bool(_process.answers)


def flush() -> None:
    """Add what this process has counted since, in one statement; keep it where that fails."""
    with _flushing:
        _process.added_at = time.monotonic()
        counted = _take()
        if not counted:
            return
        try:
            with tenant_scope.across(Purpose.API_COUNTS):
                objectives.add_answers(counted)
        except Error as error:
            _put_back(counted)
            log.debug("answer_counts.held_back", extra={"reason": type(error).__name__})
        finally:
            # The thread is not that of a request, which would give the session back.
            connection.close()


def _take() -> list[Answers]:
    with _process.lock:
        taken = [
            Answers(tenant, number, _process.errors[tenant])
            for tenant, number in _process.answers.items()
        ]
        _process.answers.clear()
        _process.errors.clear()
    return taken


def _put_back(counted: list[Answers]) -> None:
    with _process.lock:
        for one in counted:
            _process.answers[one.tenant_id] += one.answers
            _process.errors[one.tenant_id] += one.errors
