"""The page of usage: totals, the picture with its table, CSV."""

from __future__ import annotations

import pytest

from tests.factories import make_execution


def test_the_page_shows_totals_and_the_days_as_picture_and_table(browser, alpha):
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "FAILED")

    answer = browser(alpha, role="viewer").get("/usage")

    assert answer.status_code == 200
    total = answer.context["total"]
    assert (total["executions_succeeded"], total["executions_failed"]) == (1, 1)
    assert "Executions per day" in answer.text
    assert "View as table" in answer.text


def test_without_usage_the_page_says_so(browser, alpha):
    assert "Nothing ended on these days" in browser(alpha).get("/usage").text


def test_the_file_has_the_days_of_the_page(browser, alpha):
    make_execution(alpha, "SUCCEEDED")
    page = browser(alpha).get("/usage?from=2026-01-01&to=2026-01-03")
    assert "/usage.csv?from=2026-01-01&amp;to=2026-01-03" in page.text

    answer = browser(alpha).get("/usage.csv?from=2026-01-01&to=2026-01-03")

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    name = "usage-2026-01-01-2026-01-03.csv"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    assert len(answer.text.splitlines()) == 4


@pytest.mark.parametrize("path", ["/usage", "/usage.csv"])
@pytest.mark.parametrize("query", ["from=x", "from=2026-02-02&to=2026-02-01"])
def test_wrong_days_are_refused(browser, alpha, path, query):
    assert browser(alpha).get(f"{path}?{query}").status_code == 400


def test_another_tenants_usage_is_not_shown(browser, alpha, beta):
    make_execution(beta, "SUCCEEDED")

    assert not any(browser(alpha).get("/usage").context["total"].values())
    lines = browser(alpha).get("/usage.csv").text.splitlines()[1:]
    assert all(set(line.split(",")[1:]) <= {"0", "0.0"} for line in lines)
