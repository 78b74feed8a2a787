from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.limits_cost import Arrivals, Turn, backlog, options, publish, ratio


def turns(free: list[float], limited: list[float]) -> list[Turn]:
    return [*(Turn(False, one) for one in free), *(Turn(True, one) for one in limited)]


def test_the_backlog_is_due_at_one_moment_and_shared_by_the_hosts():
    tasks = backlog(["http://a/ok", "http://b/ok"], 6, 1_800_000_000_000)

    assert {str(task["schedule"]) for task in tasks} == {"{'run_at': '2027-01-15T08:00:00.000Z'}"}
    assert Counter(task["target"]["url"] for task in tasks) == {  # type: ignore[index]  # a webhook
        "http://a/ok": 3,
        "http://b/ok": 3,
    }


def test_what_arrives_is_counted_from_where_the_last_look_ended(tmp_path: Path):
    ledgers = [tmp_path / "a", tmp_path / "b"]
    for ledger in ledgers:
        ledger.write_bytes(b"before\n")
    arrivals = Arrivals(ledgers)

    ledgers[0].write_bytes(b"before\none\ntwo\nhal")
    assert arrivals.count() == 2
    ledgers[0].write_bytes(b"before\none\ntwo\nhalf\n")
    ledgers[1].write_bytes(b"before\none\n")
    assert arrivals.count() == 4


def test_turns_of_a_round_are_compared_so_that_a_slow_one_decides_nothing():
    assert ratio(turns([1000, 500, 100], [800, 400, 8000])) == 1.25


@pytest.mark.parametrize(("limited", "code"), [(950.0, 0), (900.0, 1)])
def test_limits_that_cost_more_than_a_tenth_fail_the_report(
    tmp_path: Path, limited: float, code: int
):
    chosen = options(["--results", str(tmp_path), "--start"])

    assert publish(turns([1000.0], [limited]), chosen) == code
    stored = json.loads(next(tmp_path.glob("*-limits-cost.json")).read_text())
    assert stored["passed"] is (code == 0)
