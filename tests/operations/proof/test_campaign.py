from __future__ import annotations

import pytest

from bench import campaign
from bench.installation import Installation
from operations.proof import campaign as proof_campaign
from operations.proof.campaign import Outcome
from operations.proof.oracle import Planned, Schedule, to_text
from operations.proof.workload import Window
from tests.operations.proof.fake_product import FakeProduct, fake_product


def plan(window: Window) -> list[Planned]:
    """Twenty one-time tasks within the window."""
    return [
        Planned(
            Schedule(run_at_ms=window.begin_ms + 40 * number),
            "/ok",
            {
                "schedule": {"run_at": to_text(window.begin_ms + 40 * number)},
                "target": {"url": window.receiver_url + "/ok"},
            },
            create_after_ms=number,
        )
        for number in range(20)
    ]


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch):
    # The fake needs no time to create tasks: the window may begin at once.
    monkeypatch.setattr(proof_campaign, "LEAD_MS", 100)
    monkeypatch.setattr(proof_campaign, "UNFINISHED", ("PENDING",))


async def measure(product: FakeProduct) -> Outcome:
    installation = Installation(product.url, "secret", {})
    return await campaign.run(installation, 1.0, plan)


async def test_a_product_that_keeps_its_promises_passes():
    async with fake_product() as product:
        outcome = await measure(product)

    assert outcome.verdict.passed, outcome.verdict.as_json()
    assert (outcome.verdict.expected, outcome.verdict.run) == (20, 20)
    assert outcome.accepted == 20


async def test_lost_work_is_found():
    async with fake_product(lose_every=5) as product:
        outcome = await measure(product)

    assert outcome.verdict.missed == 4
    assert not outcome.verdict.passed


async def test_doubled_work_is_found():
    async with fake_product(double_every=4) as product:
        outcome = await measure(product)

    assert outcome.verdict.labels["dup"] == 5
    assert not outcome.verdict.passed
