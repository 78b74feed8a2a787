from __future__ import annotations

from typing import Any

import pytest

from api.pools.serializers import LeaseBody


def read(**body: Any) -> Any:
    serializer = LeaseBody(data={"worker": "w", **body})
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def test_what_is_left_out_has_a_default():
    assert read() == {
        "worker": "w",
        "max": 10,
        "lease_seconds": 60,
        "wait_seconds": 0,
        "labels": {},
        "version": "",
        "capacity": None,
        "cpu_percent": None,
        "memory_bytes": None,
    }


@pytest.mark.parametrize("labels", [{}, {"gpu": ""}, {"k" * 63: "v" * 200}])
def test_labels_are_as_those_of_tasks(labels: dict[str, str]):
    assert read(labels=labels)["labels"] == labels
