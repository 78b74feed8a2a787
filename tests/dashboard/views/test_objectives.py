"""The page of objectives: budgets as picture and table, burn rates, causes with examples."""

from __future__ import annotations

from executions.models import ObjectiveCount
from insight.statistics.objectives import objectives_of, window_begins
from tests.recount.page import read
from tests.support.objective_month import keep_house, make_month, recount, stop_the_clock


def test_the_page_shows_what_is_left_how_fast_it_burns_and_what_spent_it(
    browser, alpha, monkeypatch
):
    make_month(alpha, 18)
    stop_the_clock(monkeypatch)

    answer = browser(alpha, role="viewer").get("/objectives")

    assert answer.status_code == 200
    found = {str(one.objective): one for one in objectives_of(alpha.pk)}
    shown = {one["name"]: one for one in answer.context["objectives"]}
    for name, one in found.items():
        assert shown[name]["budget"].figures == one.budget.figures
        assert [row["cause"].bad for row in shown[name]["causes"]] == [c.bad for c in one.causes]
    assert answer.text.count("Error budget spent") >= 3
    assert "Burn rates" in answer.text
    assert "worker_lost" in answer.text
    lost = next(one for one in found["success"].causes if one.cause == "worker_lost")
    assert f'href="/executions/{lost.execution_id}"' in answer.text


def test_every_named_number_of_the_page_is_that_of_a_recount(browser, alpha, beta, monkeypatch):
    make_month(alpha, 18)
    make_month(beta, 9)
    keep_house()
    right = recount([alpha], window_begins(stop_the_clock(monkeypatch))["30d"])

    page = read(browser(alpha).get("/objectives").text)

    for objective in ("start", "success", "api"):
        total, bad = right[objective, ""]
        shown = {
            one.name: one.text
            for one in page.numbers
            if one.row == objective and one.name.startswith("objective.")
        }
        # Of so few none may miss an objective: nothing is left of a budget.
        assert bad * 1_000 > total
        assert shown == {
            "objective.total": f"{total:,}",
            "objective.bad": f"{bad:,}",
            "objective.left": "0.0 %",
        }


def test_an_example_that_the_history_has_dropped_is_no_link(browser, alpha):
    make_month(alpha, 9)
    ObjectiveCount.objects.update(execution_id="00000000-0000-7000-8000-000000000001")

    text = browser(alpha).get("/objectives").text

    assert "none kept" in text
    assert "00000000-0000-7000-8000-000000000001" not in text


def test_without_work_the_page_says_that_all_is_left(browser, alpha, beta):
    make_month(beta, 9)

    answer = browser(alpha).get("/objectives")

    assert "Nothing has counted yet" in answer.text
    assert answer.text.count("100.0 %") >= 3
    assert "What spent it" not in answer.text
