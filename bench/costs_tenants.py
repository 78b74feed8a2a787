"""Punctual for ``bench.costs`` with its work spread over tenants that saturate it together."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

from bench.installation import Installation
from bench.members import enter, make_member
from bench.peers.plan import Plan
from bench.peers.punctual import BATCH, Punctual, task
from operations.proof.client import ApiClient


class ManyTenants(Punctual):
    """The same installation; each tenant has the same number of a plan's calls, or one more."""

    def __init__(self, tenants: int) -> None:
        super().__init__()
        self._tenants = tenants
        self._keys: list[str] = []

    def start(self, scratch: Path) -> None:
        """Start the installation, and make its tenants."""
        super().start(scratch)
        enter(self._product)
        self._keys = [make_member().api_key for _ in range(self._tenants)]

    def schedule(self, plan: Plan) -> None:
        """Create a one-time task for each call, by each tenant its own."""
        asyncio.run(create_by_turns(self._product, self._keys, plan))


async def create_by_turns(product: Installation, keys: Sequence[str], plan: Plan) -> None:
    """Create each call's task by the next key in turn; ApiError unless all were created."""
    for number, api_key in enumerate(keys):
        own = range(number, plan.count, len(keys))
        for begin in range(0, len(own), BATCH):
            body = {
                "tasks": [task(plan, one) for one in own[begin : begin + BATCH]],
                "atomic": True,
            }
            async with ApiClient(product.base_url, api_key, concurrency=1) as client:
                key = secrets.token_hex(16)
                await client.expect(200, "POST", "/v1/tasks/bulk", body, key=key)
