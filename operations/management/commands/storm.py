"""``manage.py storm``: kills processes of the running installation under load, and judges it.

Exit codes: 0 every promise was kept; 1 one was broken; 2 wrong use; 4 other tenants have due work,
or the installation cannot be judged; 5 Punctual does not run here; 130 interrupted.
"""

from __future__ import annotations

import secrets
import signal
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.core.management.base import CommandParser

from launcher import local_state
from operations.storm.ground import find_ground
from operations.storm.order import KINDS, Order
from operations.storm.scratch import (
    ledger_of,
    left_behind,
    patiently,
    remove,
    scratch,
    tenants_with_due_work,
)
from operations.storm.storm import run_storm
from shared.command_parser import HelpFormatter, add_common_options, examples_text
from shared.commands import FAILED, PunctualCommand, wrong_use
from shared.exceptions import Conflict

_DEFAULT_KINDS = "scheduler,worker,recorder"
_SHORTEST_SECONDS = 10
_LONGEST_MINUTES, _HIGHEST_RATE = 24 * 60, 10_000


class Command(PunctualCommand):
    """Door to ``operations.storm``."""

    help = (
        "Kill processes of the running installation at random under a load of its own, and print "
        "what was expected, run, missed, doubled and late. Disturbs every tenant; nothing is lost."
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add the options of length, load, kills and removal."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(
            (
                "storm --minutes 5",
                "storm --minutes 60 --rate 200 --kill scheduler,worker,recorder,redis,postgres "
                "--flush --yes --json",
                "storm --clean",
            )
        )
        parser.add_argument("--minutes", type=float, default=5.0, metavar="N", help="how long (5)")
        parser.add_argument(
            "--kill",
            default=_DEFAULT_KINDS,
            metavar="KINDS",
            help=f"of {', '.join(KINDS)}, by commas ({_DEFAULT_KINDS})",
        )
        parser.add_argument("--rate", type=float, default=50.0, help="executions a second (50)")
        parser.add_argument(
            "--every", type=float, default=15.0, metavar="SECONDS", help="mean time of a kill (15)"
        )
        parser.add_argument("--flush", action="store_true", help="also empty Redis now and then")
        parser.add_argument("--seed", type=int, help="repeat the moments and kinds of a storm")
        parser.add_argument("--keep", action="store_true", help="keep the tenant and its ledger")
        parser.add_argument(
            "--clean", action="store_true", help="only remove the tenants that earlier storms left"
        )
        add_common_options(parser, yes=True)

    def run(self, options: Mapping[str, Any]) -> None:
        """Ask, run the storm, print the findings; exit with 1 when a promise was broken."""
        if options["clean"]:
            self._clean(options)
            return
        order = _order(options)
        ground = find_ground(local_state.data_dir(), order)
        self._ask(options, order)
        # A stop by SIGTERM cleans up as Ctrl-C does.
        former = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with scratch(ground.data_dir, keep=options["keep"]) as made:
                self.note(f"seed {order.seed}; tenant {made.name}; the load begins in seconds")
                found = run_storm(ground, order, made, self.note)
                # Before the removal: an hour's findings are not to be lost with it.
                document = {**found.as_json(), "tenant": made.name if options["keep"] else None}
                self.emit(options, document, found.lines())
                self.note("removing the tenant" if not options["keep"] else f"kept: {made.ledger}")
        finally:
            signal.signal(signal.SIGTERM, former)
        if found.broken:
            self.leave(FAILED)

    def _ask(self, options: Mapping[str, Any], order: Order) -> None:
        others = tenants_with_due_work(timedelta(seconds=order.seconds + 60))
        if others and not options["yes"]:
            raise Conflict(
                f"{others} tenants have work that is due meanwhile; the storm would delay it. "
                "Give --yes to accept that."
            )
        kinds = ", ".join(order.kinds) + (" (and FLUSHALL)" if order.flush else "")
        self.confirm(
            options,
            f"Kill {kinds} again and again for {order.seconds / 60:g} minutes? "
            "The work of every tenant is disturbed.",
        )

    def _clean(self, options: Mapping[str, Any]) -> None:
        found = left_behind()
        self.confirm(options, f"Remove {len(found)} scratch tenants with all they have?")
        for tenant in found:
            ledger_of(local_state.data_dir(), tenant).unlink(missing_ok=True)
            patiently(partial(remove, tenant))
        names = [tenant.name for tenant in found]
        self.emit(options, {"removed": names}, [f"Removed: {', '.join(names) or 'nothing'}"])


def _order(options: Mapping[str, Any]) -> Order:
    kinds = tuple(dict.fromkeys(word.strip() for word in options["kill"].split(",")))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise wrong_use("--kill", f"{unknown[0]!r} is none of {', '.join(KINDS)}.")
    for option, most in (("minutes", _LONGEST_MINUTES), ("rate", _HIGHEST_RATE), ("every", 3600)):
        if not 0 < options[option] <= most:
            raise wrong_use(f"--{option}", f"give a number up to {most}.")
    if options["minutes"] * 60 < _SHORTEST_SECONDS:
        raise wrong_use("--minutes", f"a storm takes {_SHORTEST_SECONDS} seconds at least.")
    seed = secrets.randbelow(2**31) if options["seed"] is None else options["seed"]
    return Order(
        seconds=options["minutes"] * 60,
        kinds=kinds,
        seed=seed,
        rate=options["rate"],
        every_seconds=options["every"],
        flush=options["flush"],
    )
