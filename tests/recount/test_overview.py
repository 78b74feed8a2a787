"""Every number of the overview is that of the tables."""

from __future__ import annotations

from tests.recount.checking import judge, shown


def test_every_number_of_the_overview_equals_its_recount(each):
    for tenant, browser in each:
        judge(*shown(browser, "/", tenant))
