from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from executions.ownership.partitions import Partitions
from shared.conf import conf
from tests.factories import ApiClient

pytestmark = pytest.mark.django_db
PATH = "/v1/schedulers"


@pytest.fixture(autouse=True)
def _shown(settings: Any) -> None:
    """Let the operator have shown processes to everyone."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


def test_schedulers_and_their_partitions_are_listed(client: ApiClient):
    partitions = Partitions()
    partitions.run_once()

    shown = client.get(PATH).json()

    (node,) = shown["schedulers"]
    assert (node["id"], node["live"], node["partitions"]) == (str(partitions.node), True, 256)
    assert [row["partition"] for row in shown["partitions"]] == list(range(256))
    assert {row["owner"] for row in shown["partitions"]} == {str(partitions.node)}
    assert all(row["epoch"] >= 1 and row["expires_at"] for row in shown["partitions"])


def test_partitions_without_an_owner_say_so(client: ApiClient):
    shown = client.get(PATH).json()

    assert shown["schedulers"] == []
    assert {row["owner"] for row in shown["partitions"]} == {None}
