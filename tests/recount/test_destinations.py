"""Every number of the destinations, and of the page of each, is that of the tables."""

from __future__ import annotations

import pytest

from tests.recount.checking import judge, shown
from tests.recount.world import BUSY, CALM, QUIET

#: Its world takes seconds to make, for each test.
pytestmark = pytest.mark.slow


def test_every_number_of_the_destinations_equals_its_recount(each):
    for tenant, browser in each:
        judge(*shown(browser, "/destinations", tenant))


def test_every_number_of_one_destination_equals_its_recount(each):
    for tenant, browser in each:
        for host in (BUSY, CALM, QUIET):
            judge(*shown(browser, f"/destinations/{host}", tenant, host))
