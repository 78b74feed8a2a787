"""``manage.py tasks import``: make paused tasks of a crontab, and show the plan.

Called by the command only. A second import of the same file makes no task twice.
"""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.changes.importing import Action, Planned, Source, import_crontab
from executions.loop.clocks import database_now
from insight.presentation.import_plan import count_actions, present_plan
from operations.files import read_text
from operations.finding import zone_option
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.commands import FAILED, PARTIAL, PunctualCommand, shown, wrong_use
from shared.exceptions import InvalidInput
from tasks.calendars import limits_of
from tasks.editing import spec_of
from tasks.importers.crontab import is_system_path, parse_crontab
from tenants.models import Tenant

_MARKS = {Action.NEW: "+", Action.UNCHANGED: "=", Action.REFUSED: "!"}


def add_options(parser: CommandParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("file", metavar="FILE", help="the crontab; - reads standard input")
    parser.add_argument("--format", choices=("crontab",), default="crontab")
    parser.add_argument("--url", required=True, help="webhook that every task calls")
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument(
        "--timezone", "--tz", metavar="ZONE", help="zone of lines without CRON_TZ (UTC)"
    )
    parser.add_argument(
        "--system",
        action=BooleanOptionalAction,
        default=None,
        help="each command has a user before it (so under cron.d and in /etc/crontab)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Import, or show what an import would do."""
    path, text = read_text(options["file"])
    system = options["system"]
    if system is None:
        system = is_system_path(PurePath(path))
    zone = zone_option(options["timezone"]).name
    jobs = parse_crontab(text, system=system, timezone=zone)
    tenant = chosen_tenant(options["tenant"])
    source = Source(path, options["url"], limits_of(tenant.id))
    with transaction.atomic(durable=True):
        try:
            plan = import_crontab(tenant.id, jobs, source, actor=COMMAND, now=database_now())
        except InvalidInput as error:
            raise wrong_use("--url", error.errors[0].message) from error
        if options["dry_run"]:
            transaction.set_rollback(True)
    document = _plan_document(plan, tenant, path, options)
    command.emit(options, document, (line for item in plan for line in _plan_lines(item)))
    _conclude(command, plan, options)


def _conclude(command: PunctualCommand, plan: list[Planned], options: Mapping[str, Any]) -> None:
    counts = count_actions(plan)
    done = ", ".join(f"{count} {action}" for action, count in counts.items())
    command.note(f"{done}{' (nothing was changed: --dry-run)' if options['dry_run'] else ''}")
    if not options["timezone"] and counts[Action.NEW]:
        command.note(
            "Times without CRON_TZ are read as UTC; give --timezone where the crontab "
            "comes from a machine in another zone."
        )
    if counts[Action.NEW] and not options["dry_run"]:
        command.note(
            "They are paused. See them with `manage.py tasks list --status PAUSED`; "
            "resume them with `manage.py tasks resume ID ...`."
        )
    if counts[Action.REFUSED]:
        command.leave(PARTIAL if len(plan) > counts[Action.REFUSED] else FAILED)


def _plan_lines(item: Planned) -> Iterator[str]:
    """Return a line of the plan as people read it, within 80 columns."""
    written = " ".join(item.text.split())
    heading = item.task.name if item.task is not None else written
    yield f"{_MARKS[item.action]} {item.line:>3}  {shown(heading, 73)}"
    if item.task is not None:
        yield f"       {shown(written, 73)}"
        expression = item.task.schedule["cron_expression"]
        yield f"       {expression} · {item.schedule_text}"
        zone = spec_of(item.task).zone.info
        times = [f"{moment.astimezone(zone):%a %Y-%m-%d %H:%M}" for moment in item.fires]
        yield f"       next {' · '.join(times)}"
    if item.reason:
        yield f"       refused: {shown(item.reason)}"
    for note in item.notes:
        yield f"       note: {shown(note)}"


def _plan_document(
    plan: list[Planned], tenant: Tenant, path: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    presented = present_plan(plan, dry_run=options["dry_run"])
    return {"file": path, "tenant_id": tenant.id, **presented}
