"""``manage.py executions replay``: run the executions of a range again, as a bulk job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.choices import FINAL
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.finding import find_task, moment_option
from operations.tenancy import chosen_tenant
from shared.commands import PunctualCommand, wrong_use
from shared.exceptions import InvalidInput
from tasks.limits import current_limits
from tasks.redirection import read_into


def add_options(parser: CommandParser) -> None:
    """Add the options that choose the executions, and how fast they run again."""
    parser.add_argument(
        "--since", metavar="TIME", help="from then on: 2h, last friday 18:00, or RFC 3339"
    )
    parser.add_argument("--until", metavar="TIME", help="before then")
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument("--task", metavar="ID", help="of this task: its id, or the end of it")
    parser.add_argument("--label", metavar="KEY:VALUE", help="of tasks with this label, or key")
    parser.add_argument(
        "--status",
        nargs="+",
        choices=sorted(FINAL),
        metavar="STATUS",
        help="in these states (SUCCEEDED FAILED)",
    )
    parser.add_argument(
        "--into-url", metavar="URL", help="send webhooks to this URL instead, without their secrets"
    )
    parser.add_argument(
        "--into-pool", metavar="POOL", help="run all other targets in this pool instead"
    )
    parser.add_argument("--rate", metavar="N/s", help="maximum per s, m or h (10/s)")
    parser.add_argument(
        "--canary", type=int, metavar="N", help="try this many first, then judge them"
    )
    parser.add_argument(
        "--stop-on-failure-rate",
        type=float,
        metavar="SHARE",
        help="stop when a greater share fails: 0.5",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the scope, change nothing")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    bulk_options.add_wait(parser)


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show what would run again, ask, and make the bulk job."""
    filters: dict[str, Any] = {}
    for name in ("since", "until"):
        if options[name] is None:
            raise wrong_use(f"--{name}", "say from when to when: --since and --until.")
        filters[name] = moment_option(f"--{name}", options[name])
    if options["task"] is not None:
        filters["task"] = str(find_task(options["task"], options["tenant"]).id)
    for name in ("label", "status"):
        if options[name]:
            filters[name] = options[name]
    job_options = bulk_options.job_options(options)
    if (into := _into(options)) is not None:
        job_options["into"] = into
    plan = runs.Plan(
        chosen_tenant(options["tenant"]),
        "executions",
        "replay",
        filters,
        job_options,
        "execution",
    )
    runs.carry_out(command, options, plan)


def _into(options: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the other URL or pool that the command line names, checked before the count."""
    given = {key: text for key in ("url", "pool") if (text := options[f"into_{key}"]) is not None}
    if not given:
        return None
    try:
        return read_into(given, current_limits())
    except InvalidInput as error:
        raise wrong_use(f"--into-{next(iter(given))}", error.errors[0].message) from error
