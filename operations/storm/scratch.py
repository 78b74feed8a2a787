"""The scratch tenant of a storm: made with a key and a ledger, removed with every row of it.

Removal waits for a database that a storm has killed, and works in batches, since an hour of it
leaves a million rows. If a storm is killed itself, the next ``--clean`` finds its tenant by the
audit log and removes it.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import (
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)

from events import audit
from events.models import AuditEntry
from executions.changes import changing
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.receiver_requests import segment
from launcher.adoption import give_back
from operations import tenant_removal
from receiver import ledgers
from shared.actor import COMMAND
from tasks.choices import TaskStatus
from tasks.models import Task
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import Tenant
from tenants.services import create_api_key, create_tenant

_PREFIX = "storm-"
_MADE = "storm.began"
#: How long the removal waits for the database.
_PATIENCE_SECONDS = 120.0
_ENDED = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)
_OPEN = (Status.PENDING, Status.QUEUED, Status.RUNNING, Status.RETRYING)


@dataclass(frozen=True, slots=True)
class Scratch:
    """The tenant, and the ledger of the requests that it sends."""

    tenant_id: UUID
    name: str
    api_key: str = field(repr=False)
    ledger: Path

    @property
    def path(self) -> str:
        """Return the path under which the receiver of ``up`` writes to the ledger."""
        return segment(self.tenant_id)


@contextmanager
def scratch(data_dir: Path, *, keep: bool = False) -> Iterator[Scratch]:
    """Yield a new scratch tenant; remove it and its ledger afterwards, also after an error."""
    name = f"{_PREFIX}{secrets.token_hex(6)}"
    tenant = path = None
    try:
        with transaction.atomic(durable=True):
            tenant = create_tenant(name, actor=COMMAND, unlimited=True)
            _, key = create_api_key(
                tenant, name="storm", scopes=list(SCOPES), owner=True, actor=COMMAND, by=OPERATOR
            )
            audit.record(tenant.id, COMMAND, _MADE, "tenant", tenant.id)
        path = ledger_of(data_dir, tenant)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        # A storm that root runs makes the file, and the receiver's account writes to it.
        give_back(data_dir)
        yield Scratch(tenant.id, name, key, path)
    finally:
        if tenant is not None and not keep:
            patiently(lambda: remove(tenant))
        if path is not None and not keep:
            path.unlink(missing_ok=True)


def ledger_of(data_dir: Path, tenant: Tenant) -> Path:
    """Return the file in which the receiver of ``up`` records the tenant's requests."""
    return ledgers.file_of(data_dir / ledgers.FOLDER, segment(tenant.id))


def left_behind() -> list[Tenant]:
    """Return the scratch tenants of storms that were killed, or run with ``--keep``."""
    made = AuditEntry.objects.filter(action=_MADE).values("tenant_id")
    return list(Tenant.objects.filter(id__in=made, name__startswith=_PREFIX).order_by("name"))


def remove(tenant: Tenant) -> None:
    """Stop the tenant's tasks and remove it with every row of it, but the audit log."""
    tasks = Task.objects.for_tenant(tenant.id).filter(deleted_at=None)
    for task_id in tasks.exclude(status__in=_ENDED).values_list("id", flat=True):
        with transaction.atomic(durable=True):
            changing.delete_task(tenant.id, task_id, actor=COMMAND, cancel_running=True)
    tenant_removal.remove_history(tenant)
    with transaction.atomic(durable=True):
        tenant_removal.remove_tenant(tenant, actor=COMMAND)


def tenants_with_due_work(within: timedelta) -> int:
    """Return how many tenants have work that is open, or comes due within this time."""
    now = database_now()
    return len(_due_tenants(now, now + within))


def _due_tenants(now: datetime, until: datetime) -> set[UUID]:
    scheduled = Task.objects.filter(status=TaskStatus.SCHEDULED, cursor__next_run_at__lte=until)
    unfinished = Execution.objects.filter(status__in=_OPEN)
    return {
        *scheduled.values_list("tenant_id", flat=True).distinct(),
        *unfinished.values_list("tenant_id", flat=True).distinct(),
    }


def patiently(work: Callable[[], Any]) -> None:
    """Do the work; repeat it while the database is away or another process still writes."""
    pause = threading.Event()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            work()
        except (OperationalError, InterfaceError, InternalError, IntegrityError):
            # A running execution wrote its end meanwhile, the server is not back yet, or it has
            # ended a session that was idle for too long.
            connection.close()
            if time.monotonic() > deadline:
                raise
            pause.wait(0.5)
        else:
            return
