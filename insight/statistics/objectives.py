"""The objectives of a tenant or of the installation: error budgets, burn rates, causes.

Read from what the recorder, the schedulers and the web processes have counted, with no scan of the
ledger. :mod:`executions.ledger.objectives` says what counts. Windows of minutes begin with a full
minute, windows of days with a full hour; all end now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from executions.ledger.objectives import BUDGET_DAYS, ONE_BAD_IN, Objective
from executions.ledger.usage_days import midnight
from executions.loop.clocks import database_now
from shared.sql import rows
from shared.tenant_scope import NO_TENANT
from tenants.models import Tenant
from wire.priorities import BAND_NAMES

#: The windows of burn rates, the shortest first; the last one is that of the budget.
WINDOWS: Mapping[str, timedelta] = {
    "5m": timedelta(minutes=5),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "3d": timedelta(days=3),
    "30d": timedelta(days=BUDGET_DAYS),
}
BUDGET = "30d"
#: The window whose pace a projection assumes.
PACE = "6h"
#: The windows that tell whether a budget is spent too fast: long enough to matter, and still so.
FAST = ("5m", "1h")
#: Causes of each objective that are shown.
MOST_CAUSES = 10
_DAY = timedelta(days=1)
#: Objectives that have figures by band.
_BY_BAND = (Objective.START, Objective.SUCCESS)


@dataclass(slots=True)
class Figure:
    """What counts within a window, and what of it has missed the objective."""

    total: int = 0
    bad: int = 0

    @property
    def good(self) -> int:
        """Return what has met the objective."""
        return self.total - self.bad


@dataclass(frozen=True, slots=True)
class Budget:
    """The error budget of an objective, of all work or of one band."""

    objective: Objective
    #: ``high``, ``normal`` or ``low``; empty for all.
    band: str
    at: datetime
    figures: Mapping[str, Figure]

    @property
    def whole(self) -> Figure:
        """Return the figure of the whole budget."""
        return self.figures[BUDGET]

    @property
    def allowed(self) -> float:
        """Return how many may miss the objective, of as many as there were."""
        return self.whole.total / ONE_BAD_IN[self.objective]

    @property
    def left(self) -> float:
        """Return the part of the budget that is left, 1 for all; below 0 where it is overspent."""
        return 1.0 if not self.whole.total else 1.0 - self.whole.bad / self.allowed

    def burn_rate(self, window: str) -> float:
        """Return how many times as fast as allowed the budget was spent; 0 where nothing ran."""
        figure = self.figures[window]
        return figure.bad * ONE_BAD_IN[self.objective] / figure.total if figure.total else 0.0

    @property
    def exhausted_at(self) -> datetime | None:
        """Return when nothing is left at the pace of six hours; None beyond the budget's 30 days.

        That is now where nothing is left. What leaves the window meanwhile is not foreseen.
        """
        if self.left <= 0:
            return self.at
        pace = self.burn_rate(PACE)
        return self.at + self.left / pace * WINDOWS[BUDGET] if pace > self.left else None


@dataclass(frozen=True, slots=True)
class Spent:
    """A cause that has spent the budget of an objective; an execution is an example."""

    objective: Objective
    cause: str
    bad: int
    last_at: datetime
    execution_id: UUID | None


@dataclass(frozen=True, slots=True)
class ObjectiveState:
    """An objective: its budget, those of the bands, and the top causes."""

    budget: Budget
    by_band: list[Budget] = field(default_factory=list)
    causes: list[Spent] = field(default_factory=list)

    @property
    def objective(self) -> Objective:
        """Return which one it is."""
        return self.budget.objective


def objectives_of(tenant_id: UUID) -> list[ObjectiveState]:
    """Return the objectives of a tenant at this moment."""
    return _read([tenant_id])


def objectives_of_installation() -> list[ObjectiveState]:
    """Return the objectives of all tenants, and of calls of the API without one."""
    return _read(_everyone())


def budgets_lately() -> list[Budget]:
    """Return the objectives of the installation with the figures of the windows :data:`FAST` alone.

    They are read from the minutes of the last hour.
    """
    now = database_now()
    begins = window_begins(now)
    lately = {name: begins[name] for name in FAST}
    found = _figures(_everyone(), lately, min(lately.values()))
    return [
        Budget(one, "", now, found.get((one, "")) or {name: Figure() for name in FAST})
        for one in Objective
    ]


def window_begins(now: datetime) -> dict[str, datetime]:
    """Return when each window that ends now begins: minutes with a full one, days with an hour."""
    minute = now.replace(second=0, microsecond=0)
    hour = minute.replace(minute=0)
    return {name: (hour if length >= _DAY else minute) - length for name, length in WINDOWS.items()}


def _read(tenants: Sequence[UUID]) -> list[ObjectiveState]:
    now = database_now()
    begins = window_begins(now)
    found = _figures(tenants, begins, midnight(now) - _DAY)
    asked = {"tenants": tenants, "oldest": begins[BUDGET]}
    causes = [
        Spent(Objective(objective), *rest)
        for objective, *rest in rows("objective_reads/causes_of", asked)
    ]

    def budget(objective: Objective, band: str = "") -> Budget:
        figures = found.get((objective, band)) or _empty()
        return Budget(objective, band, now, figures)

    return [
        ObjectiveState(
            budget(one),
            [budget(one, name) for name in BAND_NAMES] if one in _BY_BAND else [],
            [cause for cause in causes if cause.objective is one][:MOST_CAUSES],
        )
        for one in Objective
    ]


def _figures(
    tenants: Sequence[UUID], begins: Mapping[str, datetime], live: datetime
) -> dict[tuple[str, str], dict[str, Figure]]:
    """Return the figures of each window by objective and band; hours are read before ``live``."""
    asked = {
        "tenants": tenants,
        "oldest": min(begins.values()),
        "since": list(begins.values()),
        "live": live,
    }
    names = list(begins)
    found: dict[tuple[str, str], dict[str, Figure]] = {}
    for objective, number, place, total, bad in rows("objective_reads/figures_of", asked):
        for band in ("",) if number is None else ("", BAND_NAMES[number]):
            empty = {name: Figure() for name in names}
            figure = found.setdefault((objective, band), empty)[names[place - 1]]
            figure.total += total
            figure.bad += bad
    return found


def _everyone() -> list[UUID]:
    return [*Tenant.objects.values_list("pk", flat=True), NO_TENANT]


def _empty() -> dict[str, Figure]:
    return {name: Figure() for name in WINDOWS}
