from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.costs_tenants import create_by_turns
from bench.installation import Installation
from bench.peers.plan import Plan
from operations.proof.client import ApiClient


def test_each_tenant_creates_its_own_part_of_the_calls_and_one_without_any_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    sent: list[tuple[str, list[str]]] = []

    async def expect(self: ApiClient, status: int, *call: Any, key: str) -> None:
        assert (status, call[:2]) == (200, ("POST", "/v1/tasks/bulk"))
        sent.append((self._key, [one["name"] for one in call[2]["tasks"]]))

    monkeypatch.setattr(ApiClient, "expect", expect)
    product = Installation("http://127.0.0.1:1", "", {})

    for count, keys in ((5, ["a", "b"]), (1, ["c", "d"])):
        plan = Plan("http://127.0.0.1:2", count, 1_800_000_000_000)
        asyncio.run(create_by_turns(product, keys, plan))

    assert sent == [
        ("a", ["webhook 0", "webhook 2", "webhook 4"]),
        ("b", ["webhook 1", "webhook 3"]),
        ("c", ["webhook 0"]),
    ]
