"""Whether an error budget of the installation is used up too fast, for its operators.

A stage of its own beside the other checks: it reads more and is less urgent.
"""

from __future__ import annotations

from django.db import transaction

from events.outbox import lock_cursor
from executions.ledger.objectives import Objective
from executions.loop.clocks import database_now
from insight.statistics.objectives import FAST, Budget, budgets_lately
from notifications.alerter import CONSUMER
from notifications.choices import AlertKind
from notifications.findings import Cause
from notifications.time_checks.conditions import settle
from notifications.time_checks.installation import rules_of_operators
from notifications.time_checks.judging import Broken
from shared.sql import run

#: Seconds between two passes of a process, and to the next try where another process judges.
EVERY_SECONDS, _AGAIN_SECONDS = 60.0, 1.0
#: A pass that takes longer is cancelled and tried again.
_MOST_MILLISECONDS = 2000
#: At this rate an hour uses up 2 % of the budget of 30 days.
FAST_RATE = 14.4
#: Fewer misses within an hour say nothing, however little has run.
LEAST_BAD = 10
_SPOKEN = {
    Objective.START: "late starts use up",
    Objective.SUCCESS: "faults of Punctual's own use up",
    Objective.API: "errors of the API use up",
}


class BudgetChecks:
    """Judges the error budgets once a minute; any number of processes may."""

    def run_once(self) -> float:
        """Judge once, unless another process does; return the seconds to the next pass."""
        return EVERY_SECONDS if check_budgets() else _AGAIN_SECONDS


def check_budgets() -> bool:
    """Judge every objective once; return False where another process opens or ends alerts."""
    kind = AlertKind.ERROR_BUDGET_BURN
    with transaction.atomic(durable=True):
        run("dispatch/limit_time", {"milliseconds": _MOST_MILLISECONDS})
        if not lock_cursor(CONSUMER):
            return False
        rules = rules_of_operators(kind)
        fast = [one for one in budgets_lately() if _is_fast(one)] if rules else []
        broken = [
            Broken(
                Cause(tenant_id, kind, subject=str(one.objective), rule_id=rule.id),
                _sentence(one),
                rule.urgent,
            )
            for tenant_id, rule in rules
            for one in fast
        ]
        settle([kind], broken, database_now())
    return True


def _is_fast(one: Budget) -> bool:
    lasts = all(one.burn_rate(window) >= FAST_RATE for window in FAST)
    return lasts and one.figures["1h"].bad >= LEAST_BAD


def _sentence(one: Budget) -> str:
    rate = one.burn_rate("1h")
    return f"{_SPOKEN[one.objective]} the error budget {rate:.0f} times as fast as allowed"
