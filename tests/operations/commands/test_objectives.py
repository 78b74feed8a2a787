from __future__ import annotations

import pytest

from insight.presentation.objectives import present_objectives
from insight.statistics.objectives import objectives_of_installation
from tenants.models import Tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.objective_month import ANSWERS, make_month, stop_the_clock

pytestmark = pytest.mark.django_db


def test_the_installation_is_the_sum_of_its_tenants_and_one_is_shown_alone(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_month(alpha, 18)
    make_month(beta, 9)
    stop_the_clock(monkeypatch)

    whole = read_document("objectives-show", call("objectives", "show", "--json").out)
    one = read_document(
        "objectives-show", call("objectives", "show", "--tenant", beta.name, "--json").out
    )

    right = present_objectives(objectives_of_installation())["objectives"]
    assert [found["total"] for found in whole["objectives"]] == [r["total"] for r in right]
    assert (whole["tenant_id"], one["tenant_id"]) == (None, str(beta.id))
    assert whole["objectives"][2]["total"] == 2 * ANSWERS
    assert one["objectives"][2]["total"] == ANSWERS


def test_lines_have_budgets_by_band_burn_rates_and_causes(alpha: Tenant):
    make_month(alpha, 18)

    said = call("objectives", "show")

    lines = said.out.splitlines()
    assert lines[0].split()[:3] == ["objective", "priority", "counted"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["start", "all"],
        ["start", "high"],
        ["start", "normal"],
        ["start", "low"],
    ]
    assert "worker_lost" in said.out


def test_without_work_nothing_burns(alpha: Tenant):
    said = call("objectives", "show")

    assert said.code == 0
    assert "100.0%" in said.out
    assert "cause" not in said.out


def test_an_unknown_tenant_is_not_found():
    assert call("objectives", "show", "--tenant", "nobody").code == 3
