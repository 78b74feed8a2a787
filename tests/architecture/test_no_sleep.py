"""No test sleeps or asserts how long something took; nothing waits deaf to its cancellation."""

from __future__ import annotations

import pytest

from tests.architecture import tree
from tests.architecture.rules import waiting

# Path -> why this file may sleep.
ALLOWED: dict[str, str] = {}


def test_tests_do_not_sleep():
    found = tree.breaches(tree.modules("tests"), waiting.sleeps, except_for=ALLOWED)

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nt.sleep(1)",
        "from time import sleep\nsleep(1)",
        "from time import sleep as rest\nrest(1)",
        "import asyncio\nasync def f(): await asyncio.sleep(0.1)",
        "from asyncio import sleep\nasync def f(): await sleep(1)",
        "import time\nwait = time.sleep",
    ],
)
def test_the_rule_finds_a_sleep_under_any_name(code: str):
    assert waiting.sleeps(code)


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\nasync def f(): await asyncio.sleep(0)",
        "import threading\nthreading.Event().wait(1)",
        "def sleep(): ...\nsleep()",
        "text = 'time.sleep(1)'",
    ],
)
def test_the_rule_leaves_giving_way_and_waiting_alone(code: str):
    assert not waiting.sleeps(code)


def test_tests_do_not_assert_how_long_something_took():
    found = tree.breaches(tree.modules("tests"), waiting.timed_assertions)

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "code",
    [
        "import time\nbegan = time.monotonic()\nassert time.monotonic() - began < 4",
        "import time\nbegan = time.monotonic()\ntook = time.monotonic() - began\nassert took > 0.4",
        "from time import perf_counter\nassert perf_counter() - began <= 1",
    ],
)
def test_the_rule_finds_a_timed_assertion(code: str):
    assert waiting.timed_assertions(code)


@pytest.mark.parametrize(
    "code",
    [
        "import time\nuntil = time.monotonic() + 60\nassert work(until) == 3",
        "took = row.duration_ms\nassert took >= 0",
    ],
)
def test_the_rule_leaves_deadlines_and_stored_durations_alone(code: str):
    assert not waiting.timed_assertions(code)


def test_the_product_waits_with_timeouts_that_keep_a_cancellation():
    found = tree.breaches(tree.production(), waiting.deaf_waits)

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\nasync def f(): await asyncio.wait_for(g(), 1)",
        "import asyncio as a\nasync def f(): await a.wait_for(g(), 1)",
        "from asyncio import wait_for\nasync def f(): await wait_for(g(), 1)",
    ],
)
def test_the_rule_finds_a_deaf_wait_under_any_name(code: str):
    assert waiting.deaf_waits(code)


def test_the_rule_leaves_other_waits_alone():
    assert not waiting.deaf_waits("from following import wait_for\nwait_for(1)")
