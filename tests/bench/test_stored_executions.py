from __future__ import annotations

import asyncio
from operator import attrgetter

import pytest

from bench.stored_executions import read
from operations.proof.ledger import Record, parse_records
from tests.factories import make_execution, make_tenant
from tests.support.api import make_client
from tests.support.processes import database_url

#: Milliseconds: the year 2100.
FAR = 4_102_444_800_000


def read_since(since_ms: int, task_ids: set[str]) -> list[Record]:
    async def records() -> list[Record]:
        found = [row async for row in read(database_url(), since_ms)]
        return parse_records(found, task_ids)

    return sorted(asyncio.run(records()), key=attrgetter("execution_id"))


@pytest.mark.django_db(transaction=True)
def test_the_database_and_the_api_give_the_same_records():
    tenant = make_tenant()
    states = ["SUCCEEDED", "FAILED", "RUNNING", "CANCELLED", "PENDING"]
    tasks = {str(make_execution(tenant, status).task_id) for status in states}
    listed = make_client(tenant).get("/v1/executions").json()["executions"]

    found = read_since(0, tasks)

    assert sorted(record.status for record in found) == sorted(states)
    assert found == sorted(parse_records(listed, tasks), key=attrgetter("execution_id"))
    assert read_since(FAR, tasks) == []
