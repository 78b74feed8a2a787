"""``manage.py tasks set``: change fields of many tasks at once, as a bulk job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.bulk.setting import require_patch
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.finding import find_task
from operations.tasks import body
from operations.tasks.editing import given_body
from operations.tenancy import chosen_tenant
from shared.commands import PunctualCommand, wrong_use
from shared.exceptions import FieldError, InvalidInput
from tasks.choices import TaskStatus, TaskType
from tenants.models import Tenant

_FILTERS = {
    "of_label": "label",
    "of_status": "status",
    "of_type": "type",
    "of_owner": "owner",
    "q": "q",
}


def add_options(parser: CommandParser) -> None:
    """Add the options that choose the tasks, their changes and the rate."""
    which = parser.add_argument_group("which tasks")
    which.add_argument("ids", nargs="*", metavar="ID", help="ids, or their ends")
    which.add_argument("--of-label", metavar="LABEL", help="with key:value, or with this key")
    which.add_argument("--of-status", choices=TaskStatus.values, nargs="+", metavar="STATUS")
    which.add_argument("--of-type", choices=TaskType.values)
    which.add_argument("--of-owner", metavar="OWNER", help="of this owner")
    which.add_argument("--q", metavar="TEXT", help="with this text in name or labels")
    which.add_argument("--all", action="store_true", help="every task of the tenant")
    body.add_options(parser)
    parser.add_argument("--file", metavar="FILE", help="JSON to merge into each; - is stdin")
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument("--rate", metavar="N/s", help="maximum per s, m or h: 10/s")
    parser.add_argument("--dry-run", action="store_true", help="show the scope, change nothing")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    bulk_options.add_wait(parser)


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show how many tasks match, ask, and change each as ``edit`` does."""
    patch = given_body(options)
    if not patch:
        raise wrong_use("set", "say what to change, such as --set schedule.jitter_seconds=30")
    try:
        require_patch(patch)
    except InvalidInput as error:
        placed = InvalidInput([_unplaced(item) for item in error.errors], error.message)
        raise body.spoken(placed, by_option=options["file"] is None) from error
    tenant, filters = _choice(options)
    job_options: dict[str, Any] = {"set": patch}
    if options["rate"] is not None:
        job_options["rate_per_second"] = bulk_options.read_rate(options["rate"])
    plan = runs.Plan(tenant, "tasks", "set", filters, job_options, noun="task")
    runs.carry_out(command, options, plan)


def _choice(options: Mapping[str, Any]) -> tuple[Tenant, dict[str, Any]]:
    filters = {
        name: options[option] for option, name in _FILTERS.items() if options[option] is not None
    }
    if options["ids"]:
        if filters or options["all"]:
            raise wrong_use("ids", "give ids or filters, not both.")
        found = [find_task(text, options["tenant"]) for text in options["ids"]]
        tenants = {task.tenant_id for task in found}
        if len(tenants) > 1:
            raise wrong_use("ids", "these are of several tenants; act on each apart.")
        return Tenant.objects.get(pk=tenants.pop()), {"ids": [str(task.id) for task in found]}
    if bool(filters) == options["all"]:
        raise wrong_use("ids", "say which: ids, filters such as --of-label, or --all.")
    return chosen_tenant(options["tenant"]), filters


def _unplaced(item: FieldError) -> FieldError:
    return FieldError(item.pointer.replace("#/set", "#", 1), item.code, item.message)
