"""Every behaviour at once, many times, in one process: memory, tasks and sockets stay bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

#: What the process may grow by from the first round to the last, both sides together.
GROWTH_BYTES = 40 * 1024 * 1024


@pytest.mark.slow
def test_all_at_once_and_again_leave_nothing_behind() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.delivery.hostile.storm", "3"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test"},
        stdout=subprocess.PIPE,
        timeout=560,
        check=True,
        text=True,
    )
    cost = json.loads(found.stdout.splitlines()[-1])

    assert cost["breaches"] == []
    assert (cost["tasks"], cost["sockets"]) == (0, 0)
    assert cost["played"] > 1500
    assert cost["grown_bytes"] < GROWTH_BYTES
