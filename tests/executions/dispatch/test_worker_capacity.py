from __future__ import annotations

import pytest

from executions.dispatch.worker_capacity import Capacity, capacity_by_pool
from shared.conf import conf
from tests.support.beats import beat, silence
from wire.worker_wishes import Word, change

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def test_there_is_no_room_without_workers():
    assert capacity_by_pool() == {}


def test_a_pool_takes_what_the_slots_and_holds_of_its_workers_add_up_to():
    beat("w1", slots=4, hold=10)
    beat("w2", slots=1, hold=0)
    beat("w3", pool="slow", slots=2, hold=3)

    assert capacity_by_pool() == {"default": Capacity(5, 10), "slow": Capacity(2, 3)}
    assert capacity_by_pool()["default"].both == 15


def test_lost_quiet_and_draining_workers_take_nothing():
    beat("draining", draining=True)
    beat("quiet", quiet=False)
    change(Word.QUIET, {"quiet": 0})
    beat("lost")
    silence("lost", conf().worker_lost_seconds + 1)

    assert capacity_by_pool() == {}
