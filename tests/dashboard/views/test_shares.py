"""The page of shares: what the tenant received, and what its weight made due."""

from __future__ import annotations

import pytest

from tests.support.backlogs import weigh
from tests.support.share_minutes import minute


def test_the_page_shows_what_was_received_and_due_by_minute(browser, alpha):
    minute(alpha, 1, 40.0, 30, 2.5)
    weigh(alpha, 3)

    answer = browser(alpha, role="viewer").get("/shares")

    assert answer.status_code == 200
    assert "has the weight 3" in answer.text
    assert "75%" in answer.text
    assert "2.5 s" in answer.text


def test_without_scarcity_the_page_says_so(browser, alpha):
    assert "No pool was scarce" in browser(alpha).get("/shares").text


def test_the_span_is_chosen_by_links(browser, alpha):
    minute(alpha, 90, 40.0, 30)

    assert "No pool was scarce" in browser(alpha).get("/shares").text
    assert "received of due" in browser(alpha).get("/shares?minutes=360").text


@pytest.mark.parametrize("query", ["minutes=x", "minutes=0", "minutes=1441"])
def test_a_wrong_span_is_refused(browser, alpha, query):
    assert browser(alpha).get(f"/shares?{query}").status_code == 400


def test_another_tenants_share_is_not_shown(browser, alpha, beta):
    minute(beta, 1, 40.0, 30)

    assert "No pool was scarce" in browser(alpha).get("/shares").text
