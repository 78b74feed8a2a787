"""``manage.py usage``: what tenants have used by day, for charging back.

Exit codes as everywhere: 0 done, 2 wrong use, 3 not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from insight.presentation.usage import present_day, total_of, usage_csv
from insight.statistics.usage import (
    DAYS,
    MOST_DAYS,
    Span,
    Usage,
    read_day,
    span_of,
    usage_of_many,
)
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import PunctualCommand, add_json_option, table, with_former_names, wrong_use
from tenants.models import Tenant
from tenants.services import get_tenant

_EXAMPLES = (
    "usage --since 2026-11-01 --until 2026-11-30 --csv",
    'usage --tenant "Billing"',
)


class Command(PunctualCommand):
    """Prints the usage of tenants."""

    help = "Show what tenants have used by day in UTC: executions, attempts, seconds, bytes."

    def add_options(self, parser: CommandParser) -> None:
        """Add the tenant, the days and the forms of the output."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(_EXAMPLES)
        parser.add_argument("--tenant", help="name or id; every tenant if left out")
        with_former_names(
            parser.add_argument(
                "--since",
                "--from",
                dest="first",
                metavar="DAY",
                help=f"first day, YYYY-MM-DD; {DAYS} days if left out, at most {MOST_DAYS}",
            )
        )
        with_former_names(
            parser.add_argument(
                "--until", "--to", dest="last", metavar="DAY", help="last day, included; or today"
            )
        )
        parser.add_argument("--csv", action="store_true", help="print CSV, a line per day")
        add_json_option(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        """Print a line per tenant and day with usage."""
        first, last = _day("--since", options["first"]), _day("--until", options["last"])
        span = span_of(first, last, ("--since", "--until"))
        names = _tenants(options["tenant"])
        found = usage_of_many(list(names), span)
        if options["csv"] and not options["json"]:
            self.stdout.write(usage_csv(found, names), ending="")
            return
        self.emit(options, _document(span, found, names), _lines(found, names))


def _day(option: str, text: str | None) -> date | None:
    try:
        return None if text is None else read_day(text)
    except ValueError as error:
        raise wrong_use(option, str(error)) from error


def _tenants(named: str | None) -> dict[UUID, str]:
    found = Tenant.objects.order_by("name") if named is None else [get_tenant(named)]
    return {one.pk: one.name for one in found}


def _document(span: Span, found: Sequence[Usage], names: Mapping[UUID, str]) -> dict[str, Any]:
    of_tenants = []
    for tenant_id, name in names.items():
        days = [one for one in found if one.tenant_id == tenant_id]
        of_tenants.append(
            {
                "id": str(tenant_id),
                "name": name,
                "days": [present_day(one) for one in days],
                "total": total_of(days),
            }
        )
    return {"from": span.first.isoformat(), "to": span.last.isoformat(), "tenants": of_tenants}


def _lines(found: Sequence[Usage], names: Mapping[UUID, str]) -> Iterator[str]:
    heading = ("tenant", "day", "started", "succeeded", "failed", "attempts", "seconds", "bytes")
    rows = [
        (
            names[one.tenant_id],
            one.day.isoformat(),
            one.started,
            one.succeeded,
            one.failed,
            one.attempts,
            f"{one.execution_ms / 1000:.3f}",
            one.recorded_bytes,
        )
        for one in sorted(found, key=lambda one: (names[one.tenant_id], one.day))
    ]
    yield from table(heading, rows)
