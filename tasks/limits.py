"""The bounds that a definition is checked against; the deployment sets some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from shared.addresses import AllowList
from shared.conf import conf
from shared.named_secrets.bindings import Binding
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.schedules.calendars import CalendarDays
from tenants.models import ApiKey, Tenant

NAME_LENGTH = 200
#: The longest e-mail address.
OWNER_LENGTH = 254
#: Longest name of a destination: a host with its port.
DESTINATION_LENGTH = 260
URL_LENGTH = 2048
LABELS = 32
LABEL_KEY_LENGTH = 63
LABEL_VALUE_LENGTH = 200
HEADERS = 64
HEADER_BYTES = 16 * 1024
DEPENDENCIES = 100
#: Entries of a budget.
BUDGETS = 8
#: Longest target of lateness or duration: 31 days.
TARGET_SECONDS = 31 * 24 * 3600
#: Of a workflow: its steps, the steps that one of them may name, and the items of a fan-out.
STEPS = 1000
STEP_KEY_LENGTH = 63
STEP_DEPENDENCIES = 64
FAN_OUT_ITEMS = 10_000
#: Items of a fan-out that run at one time: unless it says, and at most.
PARALLEL_ITEMS = 100
MOST_PARALLEL_ITEMS = 500
CALENDARS = 20
POOL_NAME_LENGTH = 50
#: Of one secret of a target, one variable of a command, or one named secret.
SECRET_BYTES = 4096
#: Named secrets of a tenant, those that one target uses, and hosts or commands of one.
NAMED_SECRETS = 200
SECRETS_IN_TARGET = 10
SECRET_BINDINGS = 20
PEM_LENGTH = 32 * 1024
PATTERN_LENGTH = 500
PATH_LENGTH = 500
REDACTED_PATHS = 20
#: Longest upper limit of work that ends by itself.
DAY_SECONDS = 24 * 3600
RUNTIME_SECONDS = 30 * DAY_SECONDS
TEN_YEARS_SECONDS = 10 * 366 * 24 * 3600


#: From names to the calendars that exist.
Book = Callable[[Sequence[str]], Mapping[str, CalendarDays]]


def no_calendars(names: Sequence[str]) -> Mapping[str, CalendarDays]:
    """Return no calendars, where no tenant is known."""
    return {}


def no_pools() -> frozenset[str]:
    """Return no pools, where no tenant is known."""
    return frozenset()


def no_keys() -> frozenset[str]:
    """Return no names of API keys, where no tenant is known."""
    return frozenset()


def keys_of(tenant_id: UUID) -> Callable[[], frozenset[str]]:
    """Return the function that reads the names of the tenant's API keys in force, once."""

    @lru_cache(maxsize=1)
    def read() -> frozenset[str]:
        keys = ApiKey.objects.filter(tenant_id=tenant_id, revoked_at__isnull=True)
        return frozenset(keys.values_list("name", flat=True))

    return read


def no_tasks(ids: Sequence[str]) -> Mapping[str, str]:
    """Return no tasks, where no tenant is known."""
    return {}


def tasks_of(tenant_id: UUID) -> Callable[[Sequence[str]], Mapping[str, str]]:
    """Return the function that finds the types of the tenant's tasks by their ids, each once."""
    known: dict[str, str] = {}

    def find(ids: Sequence[str]) -> Mapping[str, str]:
        missing = [one for one in ids if one not in known]
        if missing:
            found = Task.objects.for_tenant(tenant_id).filter(pk__in=missing)
            known.update((str(task_id), kind) for task_id, kind in found.values_list("id", "type"))
        return {one: known[one] for one in ids if one in known}

    return find


def no_workflows(ids: Sequence[str]) -> frozenset[str]:
    """Return no workflows, where no tenant is known."""
    return frozenset()


def workflows_of(tenant_id: UUID) -> Callable[[Sequence[str]], frozenset[str]]:
    """Return the function that finds which ids are the tenant's workflows."""

    def find(ids: Sequence[str]) -> frozenset[str]:
        found = Task.objects.for_tenant(tenant_id).filter(pk__in=set(ids), pool=WORKFLOW_POOL)
        return frozenset(str(one) for one in found.values_list("pk", flat=True))

    return find


def no_secrets(names: Sequence[str]) -> Mapping[str, Binding]:
    """Return no secrets, where no tenant is known."""
    return {}


def no_jitter() -> float:
    """Return the jitter of tasks that give none, where no tenant has set one."""
    return 0


def jitter_of(tenant_id: UUID) -> Callable[[], float]:
    """Return the function that reads the tenant's default jitter in seconds, once."""

    @lru_cache(maxsize=1)
    def read() -> float:
        found = Tenant.objects.filter(pk=tenant_id)
        return found.values_list("default_jitter_seconds", flat=True).first() or 0

    return read


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds that differ between deployments and tenants.

    ``calendars`` finds the tenant's calendars, ``pools`` reads the names of its pools,
    ``key_names`` the names of its API keys, ``tasks`` the types of its tasks, ``workflows`` which
    ids are workflows, ``secrets`` where its named secrets may go, and ``default_jitter`` the jitter
    in seconds of new recurring tasks that give none. ``commands`` are the names that a command
    target may give; without any, commands are off. ``variables`` has the variables of each command
    by its name. ``run_seconds`` is how long the run of a workflow, and what a step of it waits for,
    may take.
    """

    payload_bytes: int
    allow_list: AllowList
    allowed_low_ports: tuple[int, ...] = ()
    calendars: Book = no_calendars
    default_jitter: Callable[[], float] = no_jitter
    pools: Callable[[], frozenset[str]] = no_pools
    key_names: Callable[[], frozenset[str]] = no_keys
    tasks: Callable[[Sequence[str]], Mapping[str, str]] = no_tasks
    workflows: Callable[[Sequence[str]], frozenset[str]] = no_workflows
    secrets: Callable[[Sequence[str]], Mapping[str, Binding]] = no_secrets
    commands: frozenset[str] = frozenset()
    variables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allow_unverified_tls: bool = False
    run_seconds: int = RUNTIME_SECONDS


def longest_run() -> int:
    """Return the most seconds of a run: its day must not leave the history before it ends."""
    return min(RUNTIME_SECONDS, max(1, conf().retention_days - 1) * DAY_SECONDS)


def current_limits() -> Limits:
    """Return the limits of this deployment; those of a tenant: ``tasks.calendars.limits_of``."""
    knobs = conf()
    return Limits(
        payload_bytes=knobs.payload_bytes,
        allow_list=_allow_list(knobs.webhook_allowed_networks),
        allowed_low_ports=knobs.webhook_allowed_ports,
        commands=frozenset(knobs.allowed_commands),
        variables=knobs.command_variables,
        allow_unverified_tls=knobs.webhook_allow_unverified_tls,
        run_seconds=longest_run(),
    )


def commands_of(tenant_id: UUID) -> frozenset[str]:
    """Return the commands that tasks of the tenant may run."""
    knobs, tenant = conf(), str(tenant_id)
    return frozenset(name for name in knobs.allowed_commands if knobs.lets_run(name, tenant))


@lru_cache(maxsize=8)
def _allow_list(words: tuple[str, ...]) -> AllowList:
    return AllowList(words)
