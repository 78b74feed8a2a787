"""Pools: groups of workers that lease work over the API, their state, and how to join one."""

from __future__ import annotations

import shlex

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_limit, read_text, read_version
from executions.external.pools import PoolView, change_pool, delete_pool, get_pool, list_pools
from shared.conf import conf
from shared.exceptions import Conflict, NotFound
from tasks.definition import PULL_PREFIX
from tasks.models import Task
from tasks.validation.pools import is_pool_name
from tenants.choices import Role

_TASKS = 20
_NAME_LENGTH = 50


@page(Role.VIEWER)
def pools(request: ConsoleRequest) -> HttpResponse:
    """List the pools by name, with the waiting work of each."""
    found = list_pools(request.visitor.tenant.pk)
    away = any(one.workers is None for one in found)
    return render(request, "dashboard/pools.html", {"pools": found, "redis_away": away})


@page(Role.VIEWER)
def pool(request: ConsoleRequest, name: str) -> HttpResponse:
    """Show one pool: its workers, the tasks that name it, and how to start a worker."""
    tenant = request.visitor.tenant.pk
    shown = _found(request, name)
    tasks = Task.objects.for_tenant(tenant).filter(pool=PULL_PREFIX + shown.name)
    count = tasks.count()
    return render(
        request,
        "dashboard/pool.html",
        {
            "pool": shown,
            "tasks": list(tasks.order_by("name", "id")[:_TASKS]),
            "task_count": count,
            "more_tasks": max(0, count - _TASKS),
            "calls": _calls(shown.name),
        },
    )


@action(Role.OPERATOR)
def create(request: ConsoleRequest) -> Done:
    """Create a pool before its first worker does, so that tasks may name it."""
    tenant, actor = request.visitor.tenant.pk, request.visitor.actor
    name = read_text(request, "name", longest=_NAME_LENGTH)
    limit = read_limit(request, "max_in_flight", whole=True)
    if _is_there(request, name):
        raise Conflict(f"There is a pool {name!r} already.", code="pool_exists")
    made = change_pool(tenant, name, {"max_in_flight": limit}, actor=actor)
    return Done("Created. Tasks may name it now.", _url(made.name))


@action(Role.OPERATOR)
def pause(request: ConsoleRequest, name: str) -> Done:
    """Stop leasing from the pool; leased executions continue."""
    _change(request, name, {"paused": True})
    return Done("Paused. Leased executions continue. No further leases.")


@action(Role.OPERATOR)
def resume(request: ConsoleRequest, name: str) -> Done:
    """Lease from the pool again."""
    _change(request, name, {"paused": False})
    return Done("Resumed.")


@action(Role.OPERATOR)
def limit(request: ConsoleRequest, name: str) -> Done:
    """Set how many leases of the pool may be under way at a time."""
    most = read_limit(request, "max_in_flight", whole=True)
    _change(request, name, {"max_in_flight": most}, read_version(request))
    return Done("Saved. The limit applies from the next lease on.")


@action(Role.OPERATOR)
def delete(request: ConsoleRequest, name: str) -> Done:
    """Delete a pool that no task names."""
    _found(request, name)
    delete_pool(request.visitor.tenant.pk, name, actor=request.visitor.actor)
    return Done("Deleted.", reverse("dashboard:pools"))


def _change(
    request: ConsoleRequest, name: str, changes: dict[str, object], version: int | None = None
) -> None:
    """Change an existing pool; a form never creates one as a side effect."""
    tenant, actor = request.visitor.tenant.pk, request.visitor.actor
    _found(request, name)
    change_pool(tenant, name, changes, actor=actor, expected_version=version)


def _is_there(request: ConsoleRequest, name: str) -> bool:
    try:
        _found(request, name)
    except NotFound:
        return False
    return True


def _found(request: ConsoleRequest, name: str) -> PoolView:
    """Return the pool of the path; raise NotFound, also for text that a database cannot hold."""
    if not is_pool_name(name):
        raise NotFound(f"There is no pool {name[:60]!r}.")
    return get_pool(request.visitor.tenant.pk, name)


def _url(name: str) -> str:
    return reverse("dashboard:pool", args=[name])


def _calls(name: str) -> list[tuple[str, str]]:
    """Return the calls of a worker, each with its purpose."""
    base = conf().public_url.rstrip("/")
    lease = shlex.quote(f"{base}/v1/pools/{name}/lease")
    job = f"{base}/v1/executions/$EXECUTION"
    holder = "-H \"X-Execution-Token: $TOKEN\" -H 'Content-Type: application/json'"
    return [
        (
            "Start the example worker of docs/examples, with nothing but Python",
            f"PUNCTUAL_URL={shlex.quote(base)} PUNCTUAL_KEY=$API_KEY "
            f"python docs/examples/pull_worker.py {name}",
        ),
        (
            "Lease work, waiting up to 20 s for some",
            f'curl -X POST {lease} -H "Authorization: Bearer $API_KEY" \\\n'
            "  -H 'Content-Type: application/json' \\\n"
            '  -d \'{"worker": "worker-1", "max": 1, "lease_seconds": 60, "wait_seconds": 20}\'',
        ),
        (
            "Renew the lease while it works, and report progress",
            f'curl -X POST "{job}/heartbeat" {holder} \\\n'
            '  -d \'{"progress": {"done": 3, "of": 10}, "extend_seconds": 60}\'',
        ),
        (
            "Report success",
            f'curl -X POST "{job}/complete" {holder} -d \'{{"result": {{"rows": 42}}}}\'',
        ),
        (
            "Report a failure",
            f'curl -X POST "{job}/fail" {holder} -d \'{{"error": "no disk", "retry": true}}\'',
        ),
    ]
