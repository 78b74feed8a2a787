"""``manage.py shares``: what tenants received of scarce worker capacity, and what was due to them.

Exit codes as everywhere: 0 done, 2 wrong use, 3 not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from insight.presentation.shares import present_share
from insight.statistics.shares import MINUTES, MOST_MINUTES, sums_of_tenants
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import PunctualCommand, add_json_option, table, wrong_use
from tenants.models import Tenant
from tenants.services import get_tenant

_EXAMPLES = ("shares", 'shares --tenant "Billing" --minutes 1440')
_HEADING = ("pool", "tenant", "weight", "minutes", "due", "received", "ratio", "oldest wait")


class Command(PunctualCommand):
    """Prints the shares of tenants."""

    help = "Show what tenants received of scarce worker capacity, beside what was due to them."

    def add_options(self, parser: CommandParser) -> None:
        """Add the tenant and the span."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(_EXAMPLES)
        parser.add_argument("--tenant", help="name or id; every tenant if left out")
        parser.add_argument(
            "--minutes",
            type=int,
            default=MINUTES,
            metavar="N",
            help=f"minutes up to now, 1 to {MOST_MINUTES}; {MINUTES} if left out",
        )
        add_json_option(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        """Print a line per pool and tenant; pools that were not scarce have none."""
        minutes, named = options["minutes"], options["tenant"]
        if not 1 <= minutes <= MOST_MINUTES:
            raise wrong_use("--minutes", f"give 1 to {MOST_MINUTES}")
        tenant = None if named is None else get_tenant(named)
        found = sums_of_tenants(minutes, tenant.pk if tenant else None)
        known = Tenant.objects.in_bulk([one.tenant_id for one in found])
        shares = [
            {
                "tenant_id": str(one.tenant_id),
                "tenant": known[one.tenant_id].name,
                "weight": known[one.tenant_id].weight,
                **present_share(one),
            }
            for one in found
            if one.tenant_id in known
        ]
        document = {"minutes": minutes, "shares": shares}
        self.emit(options, document, [*table(_HEADING, [_line(one) for one in shares])])


def _line(one: Mapping[str, Any]) -> tuple[str, ...]:
    ratio = "-" if one["ratio"] is None else f"{one['ratio']:.0%}"
    return (
        one["pool"],
        one["tenant"],
        str(one["weight"]),
        str(one["scarce_minutes"]),
        f"{one['due']:.0f}",
        str(one["received"]),
        ratio,
        f"{one['oldest_wait_seconds']:.1f} s",
    )
