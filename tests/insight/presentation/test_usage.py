from __future__ import annotations

import csv
from datetime import date
from uuid import UUID

import pytest

from insight.presentation.usage import present_usage, usage_csv
from insight.statistics.usage import Span, Usage

TENANT = UUID(int=1)
DAYS = [
    Usage(TENANT, date(2026, 11, 1), 5, 3, 1, 1, 6, 1500, 640),
    Usage(TENANT, date(2026, 11, 2), 1, 1, 0, 0, 1, 1, 0, runs_succeeded=1),
]


def test_the_answer_has_the_days_and_their_sums():
    shown = present_usage(Span(DAYS[0].day, DAYS[1].day), DAYS)

    assert (shown["from"], shown["to"]) == ("2026-11-01", "2026-11-02")
    assert [one["day"] for one in shown["days"]] == ["2026-11-01", "2026-11-02"]
    assert shown["days"][0]["execution_seconds"] == 1.5
    assert shown["total"] == {
        "executions_started": 6,
        "executions_succeeded": 4,
        "executions_failed": 1,
        "executions_cancelled": 1,
        "attempts": 7,
        "execution_seconds": 1.501,
        "recorded_bytes": 640,
        "workflow_runs_succeeded": 1,
        "workflow_runs_failed": 0,
    }


def test_csv_has_the_figures_of_json_below_their_names():
    heading, first, _ = csv.reader(usage_csv(DAYS).splitlines())

    shown = present_usage(Span(DAYS[0].day, DAYS[1].day), DAYS)["days"][0]
    assert dict(zip(heading, first, strict=True)) == {
        name: str(value) for name, value in shown.items()
    }


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_no_tenants_name_is_a_formula_to_a_spreadsheet(name: str):
    _, line, _ = csv.reader(usage_csv(DAYS, {TENANT: name}).splitlines())

    assert line[:2] == [str(TENANT), f"'{name}"]
