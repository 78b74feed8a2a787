from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from executions.loop.clocks import database_now
from executions.models import UnownedStretch
from shared.conf import conf
from tests.executions.answers import problem
from tests.factories import ApiClient

URL = "/v1/takeovers"


def test_a_key_sees_takeovers_where_processes_are_public(viewer: ApiClient, settings: Any):
    now = database_now()
    UnownedStretch.objects.create(
        partition=1, since=now - timedelta(seconds=9), until=now, lost_by="s1@a", taken_by="s2@b"
    )
    refused = problem(viewer.get(URL))
    settings.PUNCTUAL = replace(conf(), processes_public=True)

    shown = viewer.get(URL).json()

    assert refused == (403, "forbidden")
    (one,) = shown["takeovers"]
    assert (one["lost_by"], one["taken_by"], one["unowned_seconds"]) == ("s1@a", "s2@b", 9.0)
    assert (shown["lost_attempts"], shown["lost_workers"]) == ([], [])
