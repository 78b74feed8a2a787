from __future__ import annotations

import logging

import orjson
import pytest
import redis

from shared import clock_watch
from shared.clock_watch import ClockWatch, Skew, measure, offsets, proven, skews
from shared.redis_client import CLOCKS_KEY, client
from tests.support.log_lines import lines_of
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


@pytest.fixture(autouse=True)
def _none_known():
    client().delete(CLOCKS_KEY)
    yield
    client().delete(CLOCKS_KEY)


def _off_by(monkeypatch, seconds):
    monkeypatch.setattr(clock_watch, "measure", lambda: seconds)


def _say(name, seconds, age=0.0):
    stamp = client().time()
    client().hset(CLOCKS_KEY, name, orjson.dumps([seconds, stamp[0] - age]).decode())


@pytest.mark.parametrize(
    ("before", "there", "after", "skew"),
    [
        (10.0, 10.5, 11.0, 0.0),
        (310.0, 10.0, 311.0, 300.0),
        (10.0, 310.0, 11.0, -299.0),
    ],
)
def test_only_what_an_answer_proves_counts(before, there, after, skew):
    assert proven(before, there, after) == skew


def test_clocks_of_one_machine_agree():
    assert measure() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    ("answers", "asked", "found"),
    [
        ([(0.001, 0.0)], 1, 0.0),
        ([(0.35, 0.0), (0.001, 0.3), (0.002, 0.2)], 3, 0.3),
        ([(0.35, 0.3), (0.001, 0.0)], 2, 0.0),
    ],
)
def test_one_quick_answer_is_enough_where_it_proves_nothing(monkeypatch, answers, asked, found):
    left = list(answers)
    monkeypatch.setattr(clock_watch, "_sample", lambda: left.pop(0))

    assert (measure(), len(answers) - len(left)) == (found, asked)


def test_a_clock_that_is_off_is_told_by_the_name_of_its_process(monkeypatch):
    monkeypatch.setenv("PROCESS_NAME", "worker-1")
    _off_by(monkeypatch, -300.0)

    ClockWatch("worker").look()

    (found,) = skews()
    assert found.process.startswith("worker-1@")
    assert str(found) == f"the clock of {found.process} is 300.0 s behind"


def test_clocks_within_the_bound_and_old_measurements_are_not_told():
    _say("web@a", 0.09)
    _say("web@b", 300.0, age=31.0)
    _say("web@c", 0.2)
    _say("web@d", -5.0)

    assert skews() == [Skew("web@d", -5.0), Skew("web@c", 0.2)]
    assert offsets() == [Skew("web@d", -5.0), Skew("web@c", 0.2), Skew("web@a", 0.09)]


def test_processes_that_were_not_heard_for_a_day_are_forgotten():
    _say("web@a", 0.0, age=90_000.0)

    skews()

    assert not client().hexists(CLOCKS_KEY, "web@a")


def test_the_log_says_once_when_a_clock_begins_and_ceases_to_be_off(monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    watch = ClockWatch("web")
    for seconds in (0.0, 0.5, 0.5, 0.05):
        _off_by(monkeypatch, seconds)
        watch.look()

    assert [record.message for record in caplog.records] == ["clock.off", "clock.agreed"]


def test_the_thread_measures_by_itself(monkeypatch):
    _off_by(monkeypatch, 7.0)

    ClockWatch("web").start()

    assert until(skews)[0].seconds == 7.0


def test_the_thread_goes_on_where_redis_is_away(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)

    def away():
        raise redis.ConnectionError

    monkeypatch.setattr(clock_watch, "measure", away)

    ClockWatch("web").start()

    assert until(lambda: lines_of(caplog, "clock.not_measured")) == [{"reason": "ConnectionError"}]
