from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bench.chaos.database import _others_in_time


@pytest.mark.parametrize(("late", "problems"), [(2, 0), (3, 1)])
def test_only_the_locked_task_may_be_late(late: int, problems: int):
    site: Any = None
    verdict = SimpleNamespace(start_delays_ms=[10.0] * 50 + [9000.0] * late)
    outcome: Any = SimpleNamespace(verdict=verdict)

    assert len(_others_in_time(site, outcome)) == problems
