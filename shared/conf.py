"""The product's knobs as one frozen, validated object.

Django settings build it from the environment; product code reads it through :func:`conf`.
Units are in the names. A change of one knob must keep the order that ``check`` states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from shared.jwt_issuers import JwtIssuer
from shared.oidc_providers import OidcProvider
from shared.tracing.config import Tracing


@dataclass(frozen=True, slots=True)
class Conf:
    """Every knob, its default and its effect."""

    #: How far ahead of its time an occurrence gets its row in the ledger.
    horizon_seconds: float = 15.0
    #: How far ahead of its time an execution is handed to a worker.
    release_seconds: float = 3.0
    #: An instant that waited this long for a scheduler is missed: the misfire policy applies.
    missed_after_seconds: float = 15.0
    #: How late a worker may still start an execution; after that it is taken back.
    start_margin_seconds: float = 10.0
    #: Added to start and timeout before a running execution counts as lost: longer than a process
    #: of its own may take to start.
    lease_margin_seconds: float = 40.0
    #: Lease on a partition; a dead scheduler's partitions move after this long.
    partition_lease_seconds: float = 6.0
    #: How often a scheduler renews its leases.
    partition_renew_seconds: float = 2.0
    #: Number of partitions; fixed for the life of a database.
    partition_count: int = 256
    #: How often a worker sends a heartbeat.
    worker_heartbeat_seconds: float = 2.0
    #: A worker silent this long is lost; other workers have its executions within ten seconds.
    worker_lost_seconds: float = 6.0
    #: Longest sleep of an idle scheduler; a nearer creation wakes it by notification.
    scheduler_sleep_seconds: float = 5.0
    #: Tasks read per materialize batch.
    materialize_batch: int = 1000
    #: Ledger rows written per task and batch; a longer backlog continues in the next batch.
    occurrences_per_task: int = 200
    #: Executions claimed per dispatch statement.
    dispatch_batch: int = 1000
    #: Executions per broker message.
    message_executions: int = 100
    #: Bytes per broker message.
    message_bytes: int = 1024 * 1024
    #: Requests in flight per worker process.
    worker_capacity: int = 512
    #: Executions that a worker holds for their time or a slot.
    worker_hold: int = 8000
    #: Bytes that a worker holds for their time or a slot.
    worker_hold_bytes: int = 64 * 1024 * 1024
    #: Outcomes per entry of the outcome stream.
    outcome_batch: int = 500
    #: How long a worker gathers outcomes before it flushes them.
    outcome_flush_seconds: float = 0.03
    #: Outcomes that a recorder writes per transaction.
    recorder_batch: int = 2000
    #: After a small batch a recorder waits up to this long, so that the next is not smaller still.
    recorder_gather_seconds: float = 0.1
    #: Modules that register handlers; without one this deployment runs none.
    handler_modules: tuple[str, ...] = ()
    #: Handlers at a time per worker, each in a process of its own.
    handler_slots: int = 8
    #: Runs after which a worker replaces a handler process.
    handler_process_runs: int = 500
    #: Memory after a run above which a worker replaces a handler process.
    handler_process_bytes: int = 512 * 1024 * 1024
    #: Commands at a time per worker.
    command_slots: int = 8
    #: Part of a receiver's answer that is kept.
    response_capture_bytes: int = 64 * 1024
    #: Largest payload of a task.
    payload_bytes: int = 256 * 1024
    #: How long finished executions are kept.
    retention_days: int = 90
    #: How long the usage of a day is kept, for charging back: longer than what it counts.
    usage_retention_days: int = 400
    #: Directory that a day is written to before it is dropped; empty: no archive.
    archive_dir: str = ""
    #: Days whose tables exist ahead of time.
    partition_days_ahead: int = 3
    #: Networks (CIDR or CIDR:port) that webhooks may reach although they are not public.
    webhook_allowed_networks: tuple[str, ...] = ()
    #: Ports below 1024, besides 80 and 443, that webhooks may use.
    webhook_allowed_ports: tuple[int, ...] = ()
    #: Whether a webhook may turn off the check of its receiver's certificate.
    webhook_allow_unverified_tls: bool = False
    #: Name -> absolute path of the programs that command targets may start; none: no commands.
    allowed_commands: dict[str, str] = field(default_factory=dict)
    #: Command -> names of the variables that its tasks may set; others may set none.
    command_variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Command -> ids of the only tenants whose tasks may run it; others are every tenant's.
    command_tenants: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: User or id that programs of commands run as; empty: the worker's own.
    command_user: str = ""
    #: Calls of the API that each key may make a second, twice as many at once; 0: no limit.
    api_calls_per_second: int = 100
    #: Tier -> limit of each quota that it names, for its tenants; ``default`` is for the others.
    tiers: dict[str, dict[str, int]] = field(default_factory=dict)
    #: The token that a scrape of `/metrics` shows; empty: none opens it.
    metrics_token: str = field(default="", repr=False)
    #: Networks (CIDR) whose callers may scrape `/metrics` without a token.
    metrics_networks: tuple[str, ...] = ()
    #: How many of the most delayed tenants `/metrics` names; 0: none.
    metrics_tenants: int = 0
    #: Where spans are sent, and of which traces; None: nowhere.
    tracing: Tracing | None = None
    #: URL of a trace in the operator's tool, with ``{trace_id}`` in it; empty: no links.
    trace_url: str = ""
    #: Whether the OpenAPI document and its page are public.
    schema_public: bool = False
    #: Members and keys see hosts, versions and load of processes, as operators do.
    processes_public: bool = False
    #: Issuers whose tokens services may use in place of API keys.
    jwt_issuers: tuple[JwtIssuer, ...] = field(default=(), repr=False)
    #: OpenID providers that people sign in by, besides a password.
    oidc_providers: tuple[OidcProvider, ...] = field(default=(), repr=False)
    #: Base URL under which receivers reach this deployment.
    public_url: str = "http://127.0.0.1:8000"
    #: Key id -> 32-byte key of the encryption at rest; the first is the active one.
    encryption_keys: dict[str, bytes] = field(default_factory=dict, repr=False)
    #: Key id -> 32-byte key of the audit log; the first is the active one.
    audit_keys: dict[str, bytes] = field(default_factory=dict, repr=False)
    #: Days that audit entries are kept; 0: for ever.
    audit_retention_days: int = 0
    #: Directory of the files with the heads of audit chains.
    audit_heads_dir: str = ""

    def __post_init__(self) -> None:
        if not self.partition_renew_seconds * 2 < self.partition_lease_seconds:
            raise ValueError("partition_renew_seconds must be under half of the partition lease")
        if not self.worker_heartbeat_seconds * 2 < self.worker_lost_seconds:
            raise ValueError("worker_heartbeat_seconds must be under half of worker_lost_seconds")
        if not self.release_seconds < self.horizon_seconds:
            raise ValueError("release_seconds must be below horizon_seconds")

    def lets_run(self, command: str, tenant_id: str) -> bool:
        """Return whether tasks of the tenant may run an allowed command."""
        tenants = self.command_tenants.get(command)
        return tenants is None or tenant_id in tenants


# Django's cache of settings that were read; a read through Django takes ten times as long.
_ASKED: dict[str, Any] = object.__getattribute__(settings, "__dict__")


def conf() -> Conf:
    """Return the knobs in force."""
    found: Conf | None = _ASKED.get("PUNCTUAL")
    return settings.PUNCTUAL if found is None else found
