from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django import Settings

from shared.conf import conf
from shared.redis_client import WORKER_INFO_KEY, client
from tests.support.beats import beat, silence
from wire import heartbeats
from wire.heartbeats import WorkerInfo, workers
from wire.worker_wishes import Word, change

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


@pytest.fixture(autouse=True)
def _patience(settings: Settings) -> None:
    settings.PUNCTUAL = replace(conf(), worker_lost_seconds=300)


def one(name: str) -> WorkerInfo:
    return next(worker for worker in workers() if worker.id == name)


def test_nobody_is_there_before_the_first_beat():
    assert workers() == []


def test_a_worker_is_what_it_said_of_itself():
    beat("w1", pool="slow", running=3)

    worker = one("w1")

    assert (worker.pool, worker.slots, worker.hold) == ("slow", 4, 10)
    assert worker.details["running"] == 3
    assert worker.silent_seconds < 60
    assert worker.live
    assert worker.takes_work


def test_a_worker_that_is_silent_for_long_is_not_live():
    beat("w1")
    silence("w1", conf().worker_lost_seconds + 0.5)

    assert not one("w1").live
    assert not one("w1").takes_work


def test_a_draining_worker_lives_but_takes_no_work():
    beat("w1", draining=True)

    assert one("w1").live
    assert not one("w1").takes_work


@pytest.mark.parametrize(
    ("word", "says", "state", "settled", "stops"),
    [
        (None, {"quiet": False}, "live", True, False),
        (None, {}, "live", True, False),
        # From the moment of the wish, before it has read it.
        (Word.QUIET, {"quiet": False}, "quiet", False, False),
        (Word.QUIET, {"quiet": True, "draining": True}, "quiet", True, False),
        # Until it has read that it may work again: it hands back what it gets.
        (Word.WORK, {"quiet": True, "draining": True}, "quiet", False, False),
        (Word.WORK, {"quiet": False}, "live", True, False),
        (Word.DRAIN, {"quiet": False}, "draining", False, False),
        (Word.DRAIN, {"quiet": True, "draining": True}, "draining", True, False),
        (Word.END, {"quiet": True, "draining": True}, "draining", True, True),
        # A signal stops it with any wish.
        (None, {"quiet": False, "draining": True}, "draining", True, True),
        (Word.QUIET, {"quiet": False, "draining": True}, "draining", False, True),
        (Word.DRAIN, {"quiet": False, "draining": True}, "draining", False, True),
    ],
)
def test_its_state_is_that_of_the_wish_and_of_what_it_says(
    word: Word | None, says: dict[str, bool], state: str, settled: bool, stops: bool
):
    beat("w1", **says)
    if word is not None:
        change(word, {"w1": 0})

    assert (one("w1").state, one("w1").is_settled, one("w1").stops) == (state, settled, stops)
    assert one("w1").takes_work is (state == "live")
    assert one("w1").heeds is ("quiet" in says)


def test_a_worker_without_a_description_takes_nothing():
    silence("w1", 0)

    assert one("w1").slots == 0


def test_a_worker_that_stopped_in_order_is_forgotten():
    beat("w1")
    beat("w2")

    heartbeats.remove("w1")

    assert [worker.id for worker in workers()] == ["w2"]
    assert client().hkeys(WORKER_INFO_KEY) == [b"w2"]


def test_workers_silent_for_a_day_are_forgotten():
    beat("old")
    beat("new")
    silence("old", 90_000)

    assert heartbeats.forget_old() == 1

    assert [worker.id for worker in workers()] == ["new"]
    assert heartbeats.forget_old() == 0


def test_a_tenants_own_workers_are_known_to_it_alone():
    mine, other = uuid4(), uuid4()
    beat("ours")
    heartbeats.beat("a", {"tenant": str(mine), "pool": "pull.x", "patience": 60})
    heartbeats.beat("b", {"tenant": str(other), "pool": "pull.x"})
    silence("a", 50)

    assert [worker.id for worker in workers()] == ["ours"]
    assert {worker.id for worker in workers(mine)} == {"ours", "a"}
    assert {worker.id for worker in heartbeats.everyone()} == {"ours", "a", "b"}
    # It beats only as it calls, and said how long that may take.
    assert next(worker for worker in workers(mine) if worker.id == "a").live


def test_a_touch_is_a_beat_of_who_has_described_itself():
    beat("w1")
    silence("w1", 50)

    heartbeats.touch("w1")
    heartbeats.touch("nobody")

    assert one("w1").live
    assert [worker.id for worker in workers()] == ["w1"]


def test_a_pull_workers_id_is_one_segment_of_a_path_whatever_its_name():
    tenant, other = uuid4(), uuid4()
    names = ["etl-7", "a/b", "a-b", "../..", "..", "ü?#%", "x" * 80, "x" * 79 + "y", " "]
    ids = [heartbeats.pull_worker_id(tenant, "pull.batch", name) for name in names]

    assert len(set(ids)) == len(names)
    assert all(re.fullmatch(r"[\w.-]+@pull\.batch-[0-9a-f]{12}", made) for made in ids)
    assert not any(made.startswith(".") for made in ids)
    assert ids[0].startswith("etl-7@")
    assert heartbeats.pull_worker_id(other, "pull.batch", "etl-7") not in ids
    assert heartbeats.pull_worker_id(tenant, "pull.other", "etl-7") not in ids


def test_an_attempt_that_a_pull_worker_ended_is_counted_and_says_that_it_lives():
    beat("w1")
    silence("w1", 500)
    before = datetime.now(UTC)

    heartbeats.count_ended("w1")
    heartbeats.count_ended("w1")

    minutes = {at.replace(second=0, microsecond=0) for at in (before, datetime.now(UTC))}
    counted = sum((Counter(heartbeats.ended_in(at)) for at in minutes), Counter())
    assert counted == {"w1": 2}
    assert one("w1").silent_seconds < 400
    assert heartbeats.ended_in(before - timedelta(minutes=5)) == {}
