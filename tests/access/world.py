"""A tenant with a row of everything that calls and pages show or change, and who may ask for it.

What only ``read`` may show holds the text SEEN_BY_READERS; what only ``admin`` may show holds
SEEN_BY_ADMINS; secrets hold SEEN_BY_NONE.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connection, models, transaction
from django.utils import timezone

from executions.bulk.jobs import create_bulk_job
from executions.external.pools import change_pool
from executions.loop.clocks import database_now
from executions.models import DeadLetter, WorkerMinute
from notifications.models import Alert, NotificationPreference, PushSubscription
from notifications.services.push_subscriptions import subscribe
from shared.actor import COMMAND
from tasks.models import Pause
from tenants.choices import SCOPES
from tenants.models import ApiKey, Membership, Tenant
from tenants.services import create_api_key, revoke_api_key, suspend_tenant
from tests.executions.leasing import accepted
from tests.factories import (
    ACTOR,
    WORKER,
    ApiClient,
    finish,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    release,
    start,
)
from tests.notifications.cast import make_member
from tests.support.api import make_tenant
from tests.support.calendars import make_calendar
from tests.support.push_sink import PushSink
from tests.support.workflows import begin_run, make_workflow, work
from wire.sealing import sealed_log
from workflows import control

SEEN_BY_READERS = "canary-r"
SEEN_BY_ADMINS = "canary-a"
#: What was written once and is shown to no caller again.
SEEN_BY_NONE = "canary-s"
#: A browser as anybody describes it who knows all of it.
ENDPOINT = "https://push.example.com/browser-1"
PUSH_KEYS = PushSink().keys
#: Named in paths, which every refusal repeats.
HOST, POOL = "quiet.example.com", "batch"
#: What of a row may change by being asked for.
_NOTED = {"last_used_at", "heartbeat_at"}


def body(**parts: Any) -> dict[str, Any]:
    """Return the body of a one-time task whose every text is for readers only."""
    return once(
        **{
            "name": f"{SEEN_BY_READERS}-name",
            "target": {
                "url": f"https://{HOST}/{SEEN_BY_READERS}-path",
                "headers": {"X-Api-Key": f"{SEEN_BY_NONE}-header"},
                "auth": {
                    "type": "basic",
                    "username": f"{SEEN_BY_READERS}-user",
                    "password": f"{SEEN_BY_NONE}-password",
                },
            },
            "payload": {"text": f"{SEEN_BY_READERS}-payload"},
            "labels": {"team": f"{SEEN_BY_READERS}-label"},
            **parts,
        }
    )


@dataclass(frozen=True)
class World:
    """The rows of one tenant, by what paths and bodies call them."""

    tenant: Tenant
    ids: dict[str, Any]
    token: str

    def path(self, template: str) -> str:
        """Return the path with this world's ids."""
        return template.format(**self.ids)


def make_world() -> World:
    """Return the tenant Alpha with one row of everything."""
    tenant = make_tenant("Alpha")
    # First: they are worked through before there is other work.
    runs = _workflow(tenant)
    schedule = {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"}
    task = make_task(tenant, body(schedule=schedule))
    letter = make_dead_letter(tenant, body())
    ended = _ended(tenant)
    running, token = accepted(tenant)
    waiting = make_execution(tenant, "PENDING", body())
    calendar = make_calendar(tenant, f"{SEEN_BY_READERS}-days")
    change_pool(tenant.id, POOL, {}, actor=ACTOR)
    WorkerMinute.objects.create(worker=WORKER, minute=database_now(), pool="default")
    member = _member(tenant)
    ids = {
        "task_id": task.id,
        "at": (task.next_run_at or database_now()).isoformat(),
        "letter_id": letter.id,
        "execution_id": waiting.id,
        "ended_id": ended,
        "running_id": running.id,
        "calendar_id": calendar.id,
        "pool": POOL,
        "host": HOST,
        "worker_id": WORKER,
        "pause_id": _pause(tenant).id,
        "job_id": _job(tenant).id,
        "alert_id": _alert(letter).id,
        "member": member.pk,
        "subscription_id": PushSubscription.objects.get(membership=member).id,
        **runs,
        **_keys(tenant),
    }
    return World(tenant, ids, token)


def _ended(tenant: Tenant) -> UUID:
    execution = make_execution(tenant, "PENDING", body())
    row = next(row for row in release() if row.id == execution.id)
    start([row])
    log = sealed_log(str(execution.id), SEEN_BY_READERS.encode(), truncated=False, exit_code=0)
    message = f"{SEEN_BY_READERS}-error"
    finish(row, "FAILED", reason="not_retryable", sealed_response=log, error_message=message)
    return execution.id


def _workflow(tenant: Tenant) -> dict[str, UUID]:
    """Make a workflow, a run of it that has failed, and one that waits for an approval."""
    target = body()["target"]
    steps = [
        {"key": "load", "target": target, "payload": {"text": f"{SEEN_BY_READERS}-payload"}},
        {
            "key": "each",
            "target": target,
            "depends_on": ["load"],
            "for_each": [1, 2],
            "payload": "{{ steps.load.output }}",
        },
        {"key": "ok", "kind": "approval"},
        {"key": "after", "target": target, "depends_on": ["ok"]},
    ]
    schedule = {"cron_expression": "0 8 * * *"}
    name = f"{SEEN_BY_READERS}-flow"
    task = make_workflow(tenant, steps, name=name, schedule=schedule, on_failure="continue")
    given = {"text": f"{SEEN_BY_READERS}-input"}
    failed, waiting = begin_run(task, given), begin_run(task, given)
    output = {"text": f"{SEEN_BY_READERS}-output"}
    work(failed, lambda key, item: ("FAILED" if key == "each" else "SUCCEEDED", output))
    work(waiting, lambda key, item: ("SUCCEEDED", output))
    control.skip_step(tenant.id, failed, "ok", actor=ACTOR)
    return {"workflow_id": task.id, "run_id": waiting, "failed_run_id": failed}


def _pause(tenant: Tenant) -> Pause:
    return Pause.objects.create(
        tenant_id=tenant.id,
        scope="label",
        value="other:one",
        note=f"{SEEN_BY_READERS}-note",
        created_by="test",
    )


def _alert(letter: DeadLetter) -> Alert:
    return Alert.objects.create(
        tenant_id=letter.tenant_id,
        kind="final_failure",
        error_signature="http_status:503",
        destination=HOST,
        cause=f"{SEEN_BY_READERS}-cause",
        task_id=letter.task_id,
        task_name=f"{SEEN_BY_READERS}-name",
        execution_id=letter.execution_id,
        first_at=letter.created_at,
        last_at=letter.created_at,
    )


def _job(tenant: Tenant) -> Any:
    return create_bulk_job(
        tenant.id,
        kind="tasks",
        action="pause",
        filters={},
        options={},
        name=f"{SEEN_BY_READERS}-job",
        actor=ACTOR,
    )


def _member(tenant: Tenant) -> Membership:
    member = make_member(tenant)
    address = f"{SEEN_BY_ADMINS}@example.com"
    NotificationPreference.objects.create(
        membership=member, email_address=address, confirmed_email_address=address
    )
    subscribe(
        tenant.id,
        member.pk,
        endpoint=ENDPOINT,
        user_agent=f"{SEEN_BY_ADMINS}-browser",
        actor=ACTOR,
        **PUSH_KEYS,
    )
    return member


def _keys(tenant: Tenant) -> dict[str, UUID]:
    made = {
        name: create_api_key(
            tenant,
            name=f"{SEEN_BY_ADMINS}-key",
            scopes=["read"],
            owner=owner,
            actor=COMMAND,
        )[0].id
        for name, owner in (("key_id", False), ("owner_key_id", True))
    }
    return made


@dataclass(frozen=True)
class Caller:
    """Somebody with a kind of credentials: what they may do, or the status of every answer."""

    client: ApiClient
    scopes: frozenset[str] = frozenset()
    owner: bool = False
    expires: bool = False
    foreign: bool = False
    #: The member whom a stranger names as its own.
    member: int | None = None
    refused_with: int = 0


def make_callers(tenant: Tenant) -> dict[str, Caller]:
    """Return a caller of each kind of credentials."""
    beta, gone = make_tenant("Beta"), make_tenant("Gamma")
    single = {scope: _caller(tenant, scope) for scope in SCOPES}
    expired, revoked = _key(tenant, SCOPES), _key(tenant, SCOPES)
    ApiKey.objects.filter(pk=expired[0].pk).update(expires_at=timezone.now())
    revoke_api_key(tenant.id, revoked[0].id, actor=COMMAND)
    suspended = _key(gone, SCOPES)[1]
    suspend_tenant(gone.id, actor=COMMAND)
    return {
        "no key": Caller(ApiClient(), refused_with=401),
        "an unknown key": Caller(ApiClient("pk_unknown12_" + "x" * 43), refused_with=401),
        "an expired key": Caller(ApiClient(expired[1]), refused_with=401),
        "a revoked key": Caller(ApiClient(revoked[1]), refused_with=401),
        "a suspended tenant's key": Caller(ApiClient(suspended), refused_with=403),
        "a foreign owner's key": replace(
            _caller(beta, *SCOPES, owner=True), foreign=True, member=make_member(beta, "eve").pk
        ),
        **single,
        "all but read": _caller(tenant, *SCOPES[1:]),
        "all scopes": _caller(tenant, *SCOPES),
        "an owner's key that expires": _caller(
            tenant, *SCOPES, owner=True, expires_at=timezone.now() + timedelta(hours=5)
        ),
        "an owner's key": _caller(tenant, *SCOPES, owner=True),
    }


def _caller(tenant: Tenant, *scopes: str, **parts: Any) -> Caller:
    _, text = _key(tenant, scopes, **parts)
    return Caller(
        ApiClient(text),
        frozenset(scopes),
        owner=parts.get("owner", False),
        expires="expires_at" in parts,
    )


def _key(tenant: Tenant, scopes: Any, **parts: Any) -> tuple[ApiKey, str]:
    return create_api_key(tenant, name="caller", scopes=scopes, actor=COMMAND, **parts)


@contextmanager
def undone() -> Iterator[None]:
    """Take back in the database what happens within, which may open durable transactions."""
    block = transaction.atomic()
    # As the test's own transaction: what is durable may be inside of it.
    block._from_testcase = True  # type: ignore[attr-defined]  # Django's own mark
    with block:
        yield
        transaction.set_rollback(True)


def rows_of(tenant: Tenant) -> dict[str, str]:
    """Return a digest of the tenant's stored rows by model, so that a difference shows a change.

    One statement for all tables: it is asked after almost every call.
    """
    statement, count = _digests()
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(_NOTED), *[tenant.id] * count])
        return dict(cursor.fetchall())


@cache
def _digests() -> tuple[str, int]:
    """Return the statement, and how often it asks for the tenant."""
    conditions = {model: _condition(model) for model in apps.get_models()}
    parts = [
        f"SELECT {model._meta.label!r}, md5(string_agg(line, ',' ORDER BY line))"
        f" FROM (SELECT (to_jsonb(t) - noted.names)::text AS line"
        f" FROM {model._meta.db_table} t, noted WHERE {mine}) x"
        for model, mine in conditions.items()
        if mine
    ]
    return "WITH noted (names) AS (VALUES (%s::text[])) " + " UNION ALL ".join(parts), len(parts)


def _condition(model: type[models.Model]) -> str:
    """Return what a tenant's rows of the model fulfil; "" for a model of no tenant."""
    if model is Tenant:
        return "id = %s"
    if {field.name for field in model._meta.concrete_fields} & {"tenant", "tenant_id"}:
        return "tenant_id = %s"
    for field in model._meta.concrete_fields:
        parent = field.related_model
        if isinstance(parent, type) and parent is not model and (mine := _condition(parent)):
            table, key = parent._meta.db_table, parent._meta.pk.column
            return f"{field.column} IN (SELECT {key} FROM {table} WHERE {mine})"
    return ""
