"""``GET /v1/objectives``: the tenant's budgets, burn rates and causes."""

from __future__ import annotations

import pytest

from insight.presentation.objectives import present_objectives
from insight.statistics.objectives import WINDOWS, objectives_of, window_begins
from tenants.models import Tenant
from tests.factories import ApiClient
from tests.support.objective_month import (
    ANSWERS,
    ERRORS,
    keep_house,
    make_month,
    recount,
    stop_the_clock,
)
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db
PATH = "/v1/objectives"
#: One in this many may miss each objective, as the documentation promises.
ALLOWED = {"start": 1_000, "success": 10_000, "api": 1_000}


def test_the_answer_has_each_objective_with_budgets_by_band_and_causes(
    client: ApiClient, alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_month(alpha, 18)
    make_month(beta, 9)
    stop_the_clock(monkeypatch)

    answer = client.get(PATH)

    assert answer.status_code == 200
    shown = answer.json()
    assert shown == {**present_objectives(objectives_of(alpha.pk)), "tasks": []}
    start, success, api = shown["objectives"]
    assert [one["objective"] for one in shown["objectives"]] == ["start", "success", "api"]
    assert (start["target"], success["target"], api["target"]) == (0.999, 0.9999, 0.999)
    assert (api["total"], api["bad"], api["good"]) == (ANSWERS, ERRORS, ANSWERS - ERRORS)
    assert [one["window"] for one in start["burn_rates"]] == list(WINDOWS)
    assert [one["band"] for one in start["by_band"]] == ["high", "normal", "low"]
    assert sum(one["total"] for one in start["by_band"]) == start["total"] > 0
    assert api["by_band"] == []
    assert success["causes"][0]["bad"] > 0


@recounts("objective.total", "objective.bad", "objective.left", "objective.burn_rate")
def test_every_number_of_the_answer_is_that_of_a_recount(
    client: ApiClient, alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_month(alpha, 30)
    make_month(beta, 9)
    keep_house()
    begins = window_begins(stop_the_clock(monkeypatch))

    objectives = client.get(PATH).json()["objectives"]

    right = {name: recount([alpha], begin) for name, begin in begins.items()}
    for one in objectives:
        assert sum(cause["bad"] for cause in one["causes"]) == one["bad"] > 0
        share = 1 / ALLOWED[one["objective"]]
        for budget in (one, *one["by_band"]):
            key = (one["objective"], budget.get("band", ""))
            total, bad = right["30d"][key]
            assert (budget["total"], budget["bad"], budget["good"]) == (total, bad, total - bad)
            assert budget["budget"] == pytest.approx(total * share)
            assert budget["budget_left"] == pytest.approx(1 - bad / (total * share))
            for rate in budget["burn_rates"]:
                total, bad = right[rate["window"]].get(key, (0, 0))
                assert (rate["total"], rate["bad"]) == (total, bad)
                assert rate["burn_rate"] == pytest.approx(bad / total / share if total else 0)


def test_without_work_the_whole_budget_is_left(client: ApiClient):
    for one in client.get(PATH).json()["objectives"]:
        assert (one["total"], one["bad"], one["budget_left"]) == (0, 0, 1.0)
        assert {rate["burn_rate"] for rate in one["burn_rates"]} == {0.0}
        assert (one["exhausted_at"], one["causes"]) == (None, [])


@pytest.mark.parametrize("query", ["tenant=other", "window=5m", "from=2026-01-01"])
def test_an_unknown_parameter_is_refused(client: ApiClient, query: str):
    answer = client.get(f"{PATH}?{query}")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == f"?{query.partition('=')[0]}"
