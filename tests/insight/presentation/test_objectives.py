from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from executions.ledger.objectives import Objective
from insight.presentation.objectives import present_objectives, target_of
from insight.statistics.objectives import WINDOWS, Budget, Figure, ObjectiveState, Spent

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def test_targets_are_shares():
    assert [target_of(one) for one in Objective] == [0.999, 0.9999, 0.999]


def test_an_objective_shows_figures_rates_bands_and_causes():
    figures = {name: Figure(2_000, 1) for name in WINDOWS}
    whole = Budget(Objective.START, "", NOW, figures)
    cause = Spent(Objective.START, "waited_in_worker", 1, NOW, UUID(int=1))
    low = Budget(Objective.START, "low", NOW, {name: Figure() for name in WINDOWS})

    shown = present_objectives([ObjectiveState(whole, [low], [cause])])

    assert (shown["at"], shown["window_days"]) == ("2026-11-30T00:00:00.000Z", 30)
    (one,) = shown["objectives"]
    assert (one["total"], one["good"], one["bad"], one["budget"]) == (2_000, 1_999, 1, 2.0)
    assert one["budget_left"] == pytest.approx(0.5)
    assert one["exhausted_at"] is None
    assert one["burn_rates"][0] == {"window": "5m", "total": 2_000, "bad": 1, "burn_rate": 0.5}
    assert (one["by_band"][0]["band"], one["by_band"][0]["budget_left"]) == ("low", 1.0)
    assert one["causes"] == [
        {
            "cause": "waited_in_worker",
            "bad": 1,
            "last_at": "2026-11-30T00:00:00.000Z",
            "execution_id": str(UUID(int=1)),
        }
    ]
