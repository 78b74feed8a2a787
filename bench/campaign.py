"""One measured run on an installation: a receiver with a ledger, the plan, the judged outcome."""

from __future__ import annotations

from collections.abc import Callable

from bench.installation import Installation, receiver
from operations.proof.campaign import (
    Campaign,
    Meanwhile,
    Outcome,
    ReadExecutions,
    nothing,
    signing_secret,
)
from operations.proof.client import ApiClient
from operations.proof.oracle import Planned
from operations.proof.workload import Window

#: A creation outlives a database that is away for half a minute.
_TRIES = 25


async def run(
    installation: Installation,
    seconds: float,
    plan: Callable[[Window], list[Planned]],
    meanwhile: Meanwhile = nothing,
    late_after_ms: int = 1000,
    read_executions: ReadExecutions | None = None,
) -> Outcome:
    """Run a plan for ``seconds`` and return the judged outcome.

    ``read_executions`` is passed to :class:`Campaign`.
    """
    async with ApiClient(installation.base_url, installation.api_key, tries=_TRIES) as client:
        secret = await signing_secret(client)
        with receiver(secret) as target:
            campaign = Campaign(client, target, plan, meanwhile, read_executions)
            outcome = await campaign.run(seconds, late_after_ms)
            outcome.signatures_checked = bool(secret)
            return outcome
