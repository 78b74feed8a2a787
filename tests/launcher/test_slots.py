from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.slots import conf_of_pool
from shared.conf import Conf

KNOBS = replace(Conf(), worker_capacity=512, handler_slots=6, command_slots=3)


def test_the_default_pool_runs_as_many_as_the_settings_say():
    assert conf_of_pool(KNOBS, "default") == KNOBS
    assert conf_of_pool(KNOBS, "default", 20).worker_capacity == 20


@pytest.mark.parametrize(
    ("pool", "slots", "expected"),
    [("handlers", None, 6), ("commands", None, 3), ("reports", None, 6), ("reports", 2, 2)],
)
def test_other_pools_run_as_many_as_they_have_processes(pool, slots, expected):
    found = conf_of_pool(KNOBS, pool, slots)

    assert found.worker_capacity == expected
    assert (found.handler_slots, found.command_slots) == (expected, expected)
    assert found.worker_hold == 4 * expected
