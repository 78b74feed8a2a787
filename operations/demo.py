"""The demo tenant: made by ``manage.py demo seed``, removed with everything by ``demo reset``.

The audit log shows whether the seed has made a tenant of that name. Any other one stays untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction

from events import audit
from executions.changes import changing
from executions.demo.breaks import SEEDED, is_demo
from executions.ledger import days
from executions.loop.clocks import database_now
from executions.models import DeadLetter
from executions.triggering.receiver_requests import required_address_of
from executions.triggering.triggers import run_task
from operations import demo_tasks, demo_workflow, tenant_removal
from operations.history_alerts import insert_alerts
from operations.history_samples import insert_history
from shared.actor import COMMAND
from shared.addresses import host_of
from shared.exceptions import Conflict, NotFound
from tasks.calendars import limits_of
from tasks.creation import create_task, create_tasks
from tasks.definition import Definition
from tasks.models import Task
from tasks.transitions import Pause
from tasks.validation.bodies import parse_create
from tasks.validation.workflow import parse_workflow
from tenants.choices import Role
from tenants.models import Tenant
from tenants.services import create_tenant, set_member
from workflows.launching import start_run

NAME = "demo"


@dataclass(frozen=True, slots=True)
class Seeded:
    """The counts of the demo tenant; ``made`` is true if this call has made it."""

    tenant_id: UUID
    made: bool
    tasks: int
    history: int
    dead_letters: int


def seed(receiver_url: str | None = None) -> Seeded:
    """Make the demo tenant in one transaction, or find the existing one.

    Its tasks call its own address at the test receiver, unless another one is given. Raise
    NotFound where no receiver runs, Conflict when a tenant of that name has another origin.
    """
    present = Tenant.objects.filter(name=NAME).first()
    if present is not None:
        _require_ours(present)
        return _describe(present, made=False, history=0)
    with transaction.atomic(durable=True):
        now = database_now()
        days.ensure_days_ahead(now)
        tenant = create_tenant(NAME, actor=COMMAND)
        receiver_url = receiver_url or required_address_of(tenant.id)
        for admin in get_user_model().objects.filter(is_superuser=True, is_active=True):
            set_member(tenant.id, admin.pk, Role.OWNER, actor=COMMAND)
        definitions, ids = _create_tasks(tenant, receiver_url)
        past = demo_tasks.history(ids, definitions, now)
        history = insert_history(tenant.id, past, actor=COMMAND)
        insert_alerts(tenant.id, past, host_of(receiver_url))
        changing.pause_task(
            tenant.id, ids[demo_tasks.PAUSED], Pause(note=demo_tasks.PAUSE_NOTE), actor=COMMAND
        )
        for name in demo_tasks.FAILING:
            run_task(tenant.id, ids[name], None, actor=COMMAND)
        _start_workflow(tenant, receiver_url)
        audit.record(tenant.id, COMMAND, SEEDED, "tenant", tenant.id)
        return _describe(tenant, made=True, history=history)


def find() -> Tenant:
    """Return the demo tenant; raise NotFound, or Conflict if the seed did not make it."""
    tenant = Tenant.objects.filter(name=NAME).first()
    if tenant is None:
        raise NotFound("There is no demo tenant. Make it with `manage.py demo seed`.")
    _require_ours(tenant)
    return tenant


def describe() -> Seeded:
    """Return what the demo tenant holds; raise as :func:`find`."""
    return _describe(find(), made=False, history=0)


def reset() -> Seeded:
    """Stop the demo tenant's tasks and remove it with every row of it, but the audit log.

    Running executions are aborted first; later outcomes find no row to write to.
    """
    tenant = find()
    found = _describe(tenant, made=False, history=0)
    for task in Task.objects.for_tenant(tenant.id):
        with transaction.atomic(durable=True):
            changing.delete_task(tenant.id, task.id, actor=COMMAND, cancel_running=True)
    with transaction.atomic(durable=True):
        tenant_removal.remove_tenant(tenant, actor=COMMAND)
    return found


def _create_tasks(
    tenant: Tenant, receiver_url: str
) -> tuple[dict[str, Definition], dict[str, UUID]]:
    """Create the tasks; return their definitions and their ids by name."""
    now, limits = database_now(), limits_of(tenant.id)
    definitions = [
        parse_create(body, now=now, limits=limits) for body in demo_tasks.bodies(receiver_url, now)
    ]
    made = create_tasks(tenant.id, definitions, actor=COMMAND, now=now)
    return {one.name: one for one in definitions}, {task.name: task.id for task in made}


def _start_workflow(tenant: Tenant, receiver_url: str) -> None:
    """Create the workflow and start a run of it, so that people find its steps."""
    now, body = database_now(), demo_workflow.body(receiver_url)
    definition = parse_workflow(body, now=now, limits=limits_of(tenant.id))
    task = create_task(tenant.id, definition, actor=COMMAND, now=now)
    start_run(tenant.id, task.id, None, actor=COMMAND)


def _require_ours(tenant: Tenant) -> None:
    if not is_demo(tenant.id):
        raise Conflict(
            f"The tenant {NAME!r} was not made by `manage.py demo seed`; it is left alone."
        )


def _describe(tenant: Tenant, *, made: bool, history: int) -> Seeded:
    return Seeded(
        tenant_id=tenant.id,
        made=made,
        tasks=Task.objects.for_tenant(tenant.id).count(),
        history=history,
        dead_letters=DeadLetter.objects.for_tenant(tenant.id).filter(resolved=False).count(),
    )
