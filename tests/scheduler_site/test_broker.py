from __future__ import annotations

import pytest

from scheduler_site.broker import broker_url


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("redis://:pw@host:6379/3", "redis://:pw@host:6379/3"),
        ("rediss://host/0", "rediss://host/0"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
        (
            "unix://:p%40ss@/run/valkey.sock?db=2",
            "redis+socket://:p%40ss@/run/valkey.sock?virtual_host=2",
        ),
    ],
)
def test_only_sockets_are_spelled_differently_for_kombu(given: str, spelled: str) -> None:
    assert broker_url(given) == spelled
