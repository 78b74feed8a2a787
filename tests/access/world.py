"""A tenant with a row of everything that calls and pages show or change, and who may ask for it.

What only ``read`` may show holds the text SEEN_BY_READERS; what only ``admin`` may show holds
SEEN_BY_ADMINS; secrets hold SEEN_BY_NONE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import time, timedelta
from time import time as epoch
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from events.models import AuditEntry
from executions.bulk.jobs import create_bulk_job
from executions.external.pools import change_pool
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Erasure, WorkerMinute
from notifications.models import Alert, NotificationPreference, PushSubscription
from notifications.services.event_subscriptions import create_subscription
from notifications.services.maintenance import WindowFields, create_window
from notifications.services.push_subscriptions import subscribe
from notifications.services.rules import create_rule
from shared.actor import COMMAND
from shared.conf import conf
from shared.ids import new_id
from tasks.models import Pause
from tenants.authority import OPERATOR
from tenants.choices import SCOPES, Role
from tenants.models import ApiKey, Identity, Membership, Tenant
from tenants.services import create_api_key, revoke_api_key, rotate_api_key, suspend_tenant
from tenants.services.calendar_feeds import create_feed
from tenants.services.invitations import invite_member
from tenants.services.saved_views import ViewFields, create_view
from tenants.services.sign_ins import begin_sign_in
from tests.access.rights import CREDENTIALS, OWN_TOKEN, Rights
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
from tests.support.alert_channels import make_channel
from tests.support.api import make_tenant
from tests.support.calendars import make_calendar
from tests.support.named_secrets import make_secret
from tests.support.push_sink import PushSink
from tests.support.tokens import claims_of, issuer_of, token_of
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
HOST, POOL, SECRET = "quiet.example.com", "batch", "quiet-secret"


@dataclass(frozen=True)
class Words:
    """The texts of a world by who may see them, and the names that are its tenant's own."""

    tenant: str = "Alpha"
    readers: str = SEEN_BY_READERS
    admins: str = SEEN_BY_ADMINS
    none: str = SEEN_BY_NONE
    host: str = HOST
    pool: str = POOL
    secret: str = SECRET
    endpoint: str = ENDPOINT
    member: str = "ada"
    worker: str = WORKER


ALPHA = Words()
#: Of a neighbour who has a row of everything, too: none of its words holds one of Alpha's.
BETA = Words(
    tenant="Beta",
    readers="neighbour-r",
    admins="neighbour-a",
    none="neighbour-s",
    host="loud.example.com",
    pool="nightly",
    secret="loud-secret",
    endpoint="https://push.example.com/browser-2",
    member="bob",
    worker="worker-2",
)
#: What a token says that names every scope.
_ALL = " ".join(SCOPES)


def body(words: Words = ALPHA, **parts: Any) -> dict[str, Any]:
    """Return the body of a one-time task whose every text is for readers only."""
    return once(
        **{
            "name": f"{words.readers}-name",
            "target": {
                "url": f"https://{words.host}/{words.readers}-path",
                "headers": {"X-Api-Key": f"{words.none}-header"},
                "auth": {
                    "type": "basic",
                    "username": f"{words.readers}-user",
                    "password": f"{words.none}-password",
                },
            },
            "payload": {"text": f"{words.readers}-payload"},
            "labels": {"team": f"{words.readers}-label"},
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


def filled(given: Any, ids: dict[str, Any]) -> Any:
    """Return a body with the ids that its places name."""
    if isinstance(given, dict):
        return {name: filled(value, ids) for name, value in given.items()}
    if isinstance(given, list):
        return [filled(value, ids) for value in given]
    if isinstance(given, str) and given.startswith("{") and given.endswith("}"):
        found = ids[given.strip("{}")]
        return found if isinstance(found, int) else str(found)
    return given


def make_world(
    workflow: Callable[[Tenant], dict[str, UUID]] | None = None, words: Words = ALPHA
) -> World:
    """Return a tenant with one row of everything; ``workflow`` makes that of runs."""
    tenant = make_tenant(words.tenant)
    # First: they are worked through before there is other work.
    runs = workflow(tenant) if workflow else _workflow(tenant, words)
    schedule = {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"}
    task = make_task(tenant, body(words, schedule=schedule))
    letter = make_dead_letter(tenant, body(words))
    ended = _ended(tenant, words)
    running, token = accepted(tenant)
    waiting = make_execution(tenant, "PENDING", body(words))
    calendar = make_calendar(tenant, f"{words.readers}-days")
    change_pool(tenant.id, words.pool, {}, actor=ACTOR)
    WorkerMinute.objects.create(
        worker=words.worker, minute=database_now(), pool=words.pool, tenant_id=tenant.id
    )
    member = _member(tenant, words)
    ids = {
        "task_id": task.id,
        "at": (task.next_run_at or database_now()).isoformat(),
        "letter_id": letter.id,
        "execution_id": waiting.id,
        "ended_id": ended,
        "running_id": running.id,
        "calendar_id": calendar.id,
        "secret": _secret(tenant, words),
        "pool": words.pool,
        "host": words.host,
        "worker_id": words.worker,
        "pause_id": _pause(tenant, words).id,
        "job_id": _job(tenant, words).id,
        **_alerts(letter, words),
        "erasure_id": _erasure(tenant, words).id,
        "member": member.pk,
        "owner_member": _owners(tenant, words),
        "invitation_id": _invitation(tenant, words),
        "token": "made-up",
        "provider": "acme",
        "identity_id": Identity.objects.create(
            user_id=member.user_id, issuer="https://id.example.com", subject=words.member
        ).pk,
        "entry_id": AuditEntry.objects.filter(tenant_id=tenant.pk).latest("sequence").pk,
        "subscription_id": PushSubscription.objects.get(membership=member).id,
        "session_id": begin_sign_in(member.user_id, address="", user_agent="").pk,
        **runs,
        **_settings(tenant, words),
    }
    return World(tenant, ids, token)


def _settings(tenant: Tenant, words: Words) -> dict[str, UUID]:
    """Make keys, and a receiver of events."""
    return {
        **_keys(tenant, words),
        "event_subscription_id": _event_subscription(tenant, words),
        "view_id": _view(tenant, words),
        "feed_id": _feed(tenant, words),
    }


def _event_subscription(tenant: Tenant, words: Words) -> UUID:
    made = create_subscription(
        tenant.id,
        url=f"https://{words.host}/{words.none}-events",
        types=["execution.failed"],
        actor=ACTOR,
    )
    return made.pk


def _ended(tenant: Tenant, words: Words) -> UUID:
    execution = make_execution(tenant, "PENDING", body(words))
    row = next(row for row in release() if row.id == execution.id)
    start([row])
    log = sealed_log(
        {"tenant": execution.tenant_id, "id": execution.id},
        words.readers.encode(),
        truncated=False,
        exit_code=0,
    )
    message = f"{words.readers}-error"
    finish(row, "FAILED", reason="not_retryable", sealed_response=log, error_message=message)
    return execution.id


def _workflow(tenant: Tenant, words: Words) -> dict[str, UUID]:
    """Make a workflow, a run of it that has failed, and one that waits for an approval."""
    target = body(words)["target"]
    steps = [
        {"key": "load", "target": target, "payload": {"text": f"{words.readers}-payload"}},
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
    name = f"{words.readers}-flow"
    task = make_workflow(tenant, steps, name=name, schedule=schedule, on_failure="continue")
    given = {"text": f"{words.readers}-input"}
    failed, waiting = begin_run(task, given), begin_run(task, given)
    output = {"text": f"{words.readers}-output"}
    work(failed, lambda key, item: ("FAILED" if key == "each" else "SUCCEEDED", output))
    work(waiting, lambda key, item: ("SUCCEEDED", output))
    control.skip_step(tenant.id, failed, "ok", actor=ACTOR)
    return {"workflow_id": task.id, "run_id": waiting, "failed_run_id": failed}


def _secret(tenant: Tenant, words: Words) -> str:
    make_secret(tenant, words.secret, f"{words.none}-named", hosts=[words.host])
    return words.secret


def _channel(tenant: Tenant, words: Words) -> UUID:
    """Add a channel whose path is the right to send to it."""
    url = f"https://{words.host}/{words.none}-channel"
    return make_channel(tenant, f"{words.readers}-channel", url=url).pk


def _pause(tenant: Tenant, words: Words) -> Pause:
    return Pause.objects.create(
        tenant_id=tenant.id,
        scope="label",
        value="other:one",
        note=f"{words.readers}-note",
        created_by="test",
    )


def _alert(letter: DeadLetter, words: Words) -> Alert:
    return Alert.objects.create(
        tenant_id=letter.tenant_id,
        kind="final_failure",
        error_signature="http_status:503",
        destination=words.host,
        cause=f"{words.readers}-cause",
        task_id=letter.task_id,
        task_name=f"{words.readers}-name",
        execution_id=letter.execution_id,
        first_at=letter.created_at,
        last_at=letter.created_at,
    )


def _alerts(letter: DeadLetter, words: Words) -> dict[str, UUID]:
    rule = create_rule(
        letter.tenant_id, {"kind": "failure_share", "name": f"{words.readers}-rule"}, actor=ACTOR
    )
    channel = _channel(letter.tenant, words)
    window = create_window(
        letter.tenant_id,
        WindowFields(
            name=f"{words.readers}-window",
            weekdays=[1],
            from_time=time(1),
            to_time=time(2),
        ),
        actor=ACTOR,
    )
    return {
        "alert_id": _alert(letter, words).id,
        "rule_id": rule.id,
        "channel_id": channel,
        "window_id": window.id,
    }


def _view(tenant: Tenant, words: Words) -> UUID:
    given: ViewFields = {"list": "executions", "name": f"{words.readers}-view", "query": ""}
    return create_view(tenant.id, given, member=None, actor=ACTOR).pk


def _feed(tenant: Tenant, words: Words) -> UUID:
    member = Membership.objects.filter(tenant=tenant).earliest("pk")
    made, _ = create_feed(
        tenant.id,
        name=f"{words.admins}-feed",
        filter_text="",
        timezone="UTC",
        member=member.pk,
        actor=ACTOR,
    )
    return made.pk


def _erasure(tenant: Tenant, words: Words) -> Erasure:
    now = database_now()
    return Erasure.objects.create(
        tenant_id=tenant.id,
        object_id=new_id(),
        reason=f"{words.admins}-reason",
        begun_by="test",
        ended_at=now,
    )


def _job(tenant: Tenant, words: Words) -> Any:
    return create_bulk_job(
        tenant.id,
        kind="tasks",
        action="pause",
        filters={},
        options={},
        name=f"{words.readers}-job",
        actor=ACTOR,
    )


def _member(tenant: Tenant, words: Words) -> Membership:
    member = make_member(tenant, words.member)
    # No owner: owners alone reach owners.
    Membership.objects.filter(pk=member.pk).update(role=Role.OPERATOR)
    address = f"{words.admins}@example.com"
    NotificationPreference.objects.create(
        membership=member, email_address=address, confirmed_email_address=address
    )
    subscribe(
        tenant.id,
        member.pk,
        endpoint=words.endpoint,
        user_agent=f"{words.admins}-browser",
        actor=ACTOR,
        **PUSH_KEYS,
    )
    return member


def _owners(tenant: Tenant, words: Words) -> int:
    """Make two owners, so that one may go, and return one of them."""
    users = [User.objects.create_user(f"{words.admins}-owner-{number}") for number in (1, 2)]
    made = [Membership.objects.create(user=one, tenant=tenant, role=Role.OWNER) for one in users]
    return made[0].pk


def _invitation(tenant: Tenant, words: Words) -> UUID:
    address = f"{words.admins}-new@example.com"
    return invite_member(tenant.id, email=address, role=Role.VIEWER, by=OPERATOR, actor=ACTOR).id


def _keys(tenant: Tenant, words: Words) -> dict[str, UUID]:
    made = {
        name: create_api_key(
            tenant,
            name=f"{words.admins}-key",
            scopes=["read"],
            owner=owner,
            actor=COMMAND,
            by=OPERATOR,
        )[0].id
        for name, owner in (("key_id", False), ("owner_key_id", True))
    }
    return made


@dataclass(frozen=True)
class Caller(Rights):
    """Somebody with a kind of credentials, and what they allow."""

    client: ApiClient
    #: The member whom a stranger names as its own.
    member: int | None = None


class _TokenClient(ApiClient):
    """Calls the API with the token of an execution, and no key."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return super().call(method, path, body, x_execution_token=self._token, **headers)


class _SessionClient(ApiClient):
    """Calls the API from a browser that is signed in to the console, without a key."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self._client.force_login(user)


def make_callers(world: World) -> dict[str, Caller]:
    """Return a caller of each kind of credentials."""
    tenant, beta, gone = world.tenant, make_tenant("Beta"), make_tenant("Gamma")
    owner = Membership.objects.get(pk=world.ids["owner_member"]).user
    clients: dict[str, ApiClient] = {
        "no key": ApiClient(),
        OWN_TOKEN: _TokenClient(world.token),
        "an owner's session of the console": _SessionClient(owner),
    }
    keys = {**_refused_keys(tenant, gone), **_tokens(tenant, beta, gone)}
    members = {True: make_member(beta, "eve").pk, False: None}
    made = {}
    for kind, rights in CREDENTIALS.items():
        if kind not in clients:
            text = keys.get(kind) or _key_of(beta if rights.foreign else tenant, rights)
            clients[kind] = ApiClient(text)
        made[kind] = Caller(clients[kind], members[rights.foreign], **vars(rights))
    return made


def _key_of(tenant: Tenant, rights: Rights) -> str:
    """Return a key that allows these rights."""
    end = timezone.now() + timedelta(hours=5) if rights.expires else None
    parts = {"owner": rights.owner, "expires_at": end, "sees_payloads": not rights.blind}
    return _key(tenant, sorted(rights.scopes), **parts)[1]


def _refused_keys(tenant: Tenant, gone: Tenant) -> dict[str, str]:
    """Return keys that are valid no more or not here, and one that is rotated and valid still."""
    expired, revoked = _key(tenant, SCOPES), _key(tenant, SCOPES)
    rotated, overlapping = _key(tenant, SCOPES), _key(tenant, SCOPES)
    ApiKey.objects.filter(pk=expired[0].pk).update(expires_at=timezone.now())
    revoke_api_key(tenant.id, revoked[0].id, actor=COMMAND, by=OPERATOR)
    for key, seconds in ((rotated[0], 0), (overlapping[0], 3600)):
        rotate_api_key(tenant.id, key.id, overlap_seconds=seconds, actor=COMMAND, by=OPERATOR)
    suspended = _key(gone, SCOPES)[1]
    suspend_tenant(gone.id, actor=COMMAND)
    elsewhere = ["203.0.113.0/24", "2001:db8::/32"]
    return {
        "an unknown key": "pk_unknown12_" + "x" * 43,
        "an expired key": expired[1],
        "a revoked key": revoked[1],
        "a rotated key after its overlap": rotated[1],
        "a rotated key within its overlap": overlapping[1],
        "a suspended tenant's key": suspended,
        "a key for other addresses": _key(tenant, SCOPES, owner=True, addresses=elsewhere)[1],
    }


def trust(tenant: Tenant, beta: Tenant, gone: Tenant) -> None:
    """Let an issuer sign for the tenants; another one is not trusted."""
    issuer = issuer_of(tenant, beta, gone)
    settings.PUNCTUAL = replace(conf(), jwt_issuers=(issuer,))


def _tokens(tenant: Tenant, beta: Tenant, gone: Tenant) -> dict[str, str]:
    """Return a signed token of each kind."""
    trust(tenant, beta, gone)
    now = int(epoch())
    claims = {
        **{f"a token: {scope}": claims_of(scope=scope, sub="service") for scope in SCOPES},
        "a token: all scopes": claims_of(scope=_ALL, sub="service"),
        "a foreign tenant's token": claims_of(beta.name, scope=_ALL, sub="service"),
        "a suspended tenant's token": claims_of(gone.name, scope=_ALL),
        "an expired token": claims_of(scope=_ALL, iat=now - 900, exp=now - 300),
        "a token of another issuer": claims_of(scope=_ALL, iss="https://other.example.com"),
        "a token for another audience": claims_of(scope=_ALL, aud="another"),
        "a token of a tenant not allowed": claims_of("Omega", scope=_ALL),
        "a token without a scope": claims_of(scope="owner"),
    }
    impostor = token_of(claims_of(scope=_ALL), "x" * 64)
    signed = {kind: token_of(said) for kind, said in claims.items()}
    return {**signed, "a token that another has signed": impostor}


def _key(tenant: Tenant, scopes: Any, **parts: Any) -> tuple[ApiKey, str]:
    return create_api_key(tenant, name="caller", scopes=scopes, actor=COMMAND, by=OPERATOR, **parts)


@contextmanager
def undone() -> Iterator[None]:
    """Take back in the database what happens within, which may open durable transactions."""
    block = transaction.atomic()
    # As the test's own transaction: what is durable may be inside of it.
    block._from_testcase = True  # type: ignore[attr-defined]  # Django's own mark
    with block:
        yield
        transaction.set_rollback(True)
