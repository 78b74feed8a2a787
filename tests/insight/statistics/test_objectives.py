"""Every figure of the objectives is what a recount of the rows gives; edges without any rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.ledger.objectives import ONE_BAD_IN, Objective
from executions.loop.clocks import database_now
from executions.models import MinuteStat, ObjectiveCount
from insight.statistics.objectives import (
    BUDGET,
    MOST_CAUSES,
    WINDOWS,
    Budget,
    Figure,
    ObjectiveState,
    objectives_of,
    objectives_of_installation,
    window_begins,
)
from tenants.models import Tenant
from tests.support.objective_month import keep_house, make_month, recount
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 30, 12, 34, 56, 789, tzinfo=UTC)


def budgets(found: list[ObjectiveState]) -> dict[tuple[str, str], Budget]:
    return {
        (str(budget.objective), budget.band): budget
        for one in found
        for budget in (one.budget, *one.by_band)
    }


def assert_equals_a_recount(found: list[ObjectiveState], tenants: list[Tenant]) -> None:
    shown = budgets(found)
    begins = window_begins(found[0].budget.at)
    for name in WINDOWS:
        right = recount(tenants, begins[name])
        told = {
            key: (budget.figures[name].total, budget.figures[name].bad)
            for key, budget in shown.items()
            if budget.figures[name].total
        }
        assert told == right, name


@recounts("objective.total", "objective.bad")
def test_every_figure_of_a_month_with_outages_equals_a_recount(alpha: Tenant, beta: Tenant):
    make_month(alpha)
    make_month(beta, 41)

    # Of minutes, before anything was added up; then of hours, with minutes of a week only.
    for tenants in ([alpha], [beta]):
        assert recount(tenants, window_begins(database_now())["5m"])["success", ""][1] > 0
    keep_house()
    keep_house()

    assert not MinuteStat.objects.filter(minute__lt=database_now() - timedelta(days=9)).exists()
    assert ObjectiveCount.objects.filter(hourly=True).exists()
    for tenant in (alpha, beta):
        assert_equals_a_recount(objectives_of(tenant.pk), [tenant])
    assert_equals_a_recount(objectives_of_installation(), [alpha, beta])
    causes = [cause for one in objectives_of(alpha.pk) for cause in one.causes]
    for one in objectives_of(alpha.pk):
        assert sum(cause.bad for cause in one.causes) == one.budget.whole.bad > 0
        assert [cause.bad for cause in one.causes] == sorted(
            (cause.bad for cause in one.causes), reverse=True
        )
        assert len(one.causes) < MOST_CAUSES
    assert {cause.cause for cause in causes} >= {
        *("worker_lost", "internal", "decryption_failed", "misfire_skipped"),
        *("misfire_coalesced", "waited_for_dispatch", "server_error"),
    }


def test_without_any_work_the_whole_budget_is_left_and_nothing_burns(alpha: Tenant):
    for found in (objectives_of(alpha.pk), objectives_of_installation()):
        assert [one.objective for one in found] == list(Objective)
        for budget in budgets(found).values():
            assert (budget.whole.total, budget.whole.bad, budget.allowed) == (0, 0, 0.0)
            assert budget.left == 1.0
            assert [budget.burn_rate(name) for name in WINDOWS] == [0.0] * len(WINDOWS)
            assert budget.exhausted_at is None
        assert [one.causes for one in found] == [[], [], []]


def test_hours_and_minutes_with_nothing_are_no_figures(alpha: Tenant):
    at = database_now().replace(second=0, microsecond=0)
    for hours in (1, 30):
        MinuteStat.objects.create(
            tenant_id=alpha.id, minute=at - timedelta(hours=hours, minutes=1), start_delays=[]
        )
    keep_house()

    assert budgets(objectives_of(alpha.pk))["start", ""].whole.total == 0


def budget(objective: Objective = Objective.START, **figures: tuple[int, int]) -> Budget:
    found = {name: Figure(*figures.get(f"w{name}", (0, 0))) for name in WINDOWS}
    return Budget(objective, "", NOON, found)


def test_a_budget_is_left_in_part_none_or_overspent():
    assert budget(w30d=(50_000, 0)).left == 1.0
    assert budget(w30d=(50_000, 10)).left == pytest.approx(0.8)
    assert budget(w30d=(50_000, 10)).allowed == 50.0
    assert budget(w30d=(50_000, 50)).left == 0.0
    assert budget(w30d=(100, 1)).left == pytest.approx(-9.0)
    assert budget(w30d=(50_000, 10)).whole.good == 49_990


def test_a_burn_rate_of_one_spends_as_much_as_is_allowed():
    assert budget(w1h=(2_000, 2)).burn_rate("1h") == 1.0
    assert budget(w1h=(1_000, 144)).burn_rate("1h") == 144.0
    assert budget(Objective.SUCCESS, w1h=(1_000, 1)).burn_rate("1h") == 10.0
    assert budget(w1h=(1_000, 0)).burn_rate("1h") == 0.0


def test_the_end_of_a_budget_is_foreseen_within_its_days():
    half = (50_000, 25)

    assert budget(w30d=half, w6h=(1_000, 1)).exhausted_at == NOON + timedelta(days=15)
    assert budget(w30d=half, w6h=(1_000, 10)).exhausted_at == NOON + timedelta(days=1.5)
    assert budget(w30d=half, w6h=(10**9, 1)).exhausted_at is None
    assert budget(w30d=half).exhausted_at is None
    assert budget(w30d=(1_000, 1)).exhausted_at == NOON


def test_windows_begin_with_a_full_minute_or_hour():
    begins = window_begins(NOON)

    assert begins["5m"] == datetime(2026, 11, 30, 12, 29, tzinfo=UTC)
    assert begins["6h"] == datetime(2026, 11, 30, 6, 34, tzinfo=UTC)
    assert begins["3d"] == datetime(2026, 11, 27, 12, tzinfo=UTC)
    assert begins[BUDGET] == datetime(2026, 10, 31, 12, tzinfo=UTC)


def test_another_tenants_work_is_not_counted(alpha: Tenant, beta: Tenant):
    make_month(beta, 5)

    assert not any(one.budget.whole.total for one in objectives_of(alpha.pk))
    assert set(ONE_BAD_IN) == set(Objective)
