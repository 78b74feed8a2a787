"""Every number of the workers, and of the page of each, is what they told and the ledger has."""

from __future__ import annotations

import pytest

from tests.recount.checking import judge, shown

#: Its world takes seconds to make, for each test.
pytestmark = pytest.mark.slow

WORKER = "slow@host:1"


def test_every_number_of_the_workers_equals_its_recount(each):
    for tenant, browser in each:
        judge(*shown(browser, "/workers", tenant))


def test_every_number_of_one_worker_equals_its_recount(each):
    spans = {"6h": (6, "minute"), "7d": (168, "hour"), "90d": (2160, "hour")}
    for tenant, browser in each:
        for name, span in spans.items():
            path = f"/workers/{WORKER}?span={name}"
            judge(*shown(browser, path, tenant, WORKER), span)


def test_every_number_of_a_pull_worker_equals_its_recount(each):
    for place, (tenant, browser) in enumerate(each):
        judge(*shown(browser, f"/workers/puller{place}", tenant, f"puller{place}"))
