from __future__ import annotations

from collections import Counter
from dataclasses import replace

from operations.proof.oracle import Accepted, targets
from operations.proof.workload import Window, mixed_day, steady, stormy

BEGIN = 1_800_000_000_000
WINDOW = Window(BEGIN, BEGIN + 600_000, "http://127.0.0.1:9", "run")


def test_a_mixed_day_has_every_kind_and_behaviour():
    planned = mixed_day(WINDOW, 2000, seed=1)

    kinds = Counter(task.schedule.kind for task in planned)
    behaviours = Counter(task.behaviour for task in planned)

    assert kinds == {"one-time": 1000, "fixed rate": 500, "cron": 500}
    assert behaviours["failing"] > 50
    assert behaviours["flaky"] > 100
    assert behaviours["slow"] > 100
    assert any("webhook_url" in task.definition["payload"] for task in planned)


def test_the_same_seed_gives_the_same_day():
    assert mixed_day(WINDOW, 50, seed=3) == mixed_day(WINDOW, 50, seed=3)
    assert mixed_day(WINDOW, 50, seed=3) != mixed_day(WINDOW, 50, seed=4)


def test_every_instant_of_a_day_lies_within_it():
    for task in mixed_day(WINDOW, 2000, seed=2):
        created_ns = (BEGIN + task.create_after_ms - 1000) * 1_000_000
        found = targets(Accepted("t", task, created_ns, created_ns), WINDOW.end_ms)
        assert all(BEGIN - 1000 <= target.at_ms <= WINDOW.end_ms for target in found)


def test_a_steady_load_has_its_rate_in_every_second():
    planned = steady(WINDOW, 100)

    per_second: Counter[int] = Counter()
    for task in planned:
        created_ns = (BEGIN - 5000) * 1_000_000
        for target in targets(Accepted("t", task, created_ns, created_ns), WINDOW.end_ms):
            per_second[(target.at_ms - BEGIN) // 1000] += target.required

    assert all(98 <= per_second[second] <= 102 for second in range(600))


def test_one_time_tasks_of_a_steady_load_are_created_shortly_before():
    singles = [task for task in steady(WINDOW, 100) if task.schedule.kind == "one-time"]

    assert len(singles) == 12_000
    for task in singles:
        assert task.schedule.run_at_ms is not None
        ahead_ms = task.schedule.run_at_ms - BEGIN - task.create_after_ms
        assert 0 < ahead_ms < 8000


def test_a_share_of_a_steady_load_can_be_slow():
    planned = steady(WINDOW, 100, slow_share=0.1)

    slow = sum(task.behaviour == "slow" for task in planned)
    assert 0.08 < slow / len(planned) < 0.12


def test_a_storm_has_its_rate_and_replays_whatever_was_missed():
    window = Window(1_800_000_000_000, 1_800_000_020_000, "http://r", "run")
    planned = stormy(window, 50)

    accepted = [Accepted(str(n), task, 0, 0) for n, task in enumerate(planned)]
    due = [
        target
        for one in accepted
        for target in targets(replace(one, sent_ns=(window.begin_ms - 1) * 10**6), window.end_ms)
    ]
    recurring = [task for task in planned if task.schedule.kind != "one-time"]

    assert 0.95 * 50 * 20 <= len(due) <= 1.1 * 50 * 20
    assert {kind.schedule.kind for kind in planned} == {"cron", "fixed rate", "one-time"}
    for task in recurring:
        fields = task.definition.get("schedule", task.definition)
        assert fields["misfire_policy"] == "replay"


def test_a_small_storm_still_has_a_pulse():
    window = Window(1_800_000_000_000, 1_800_000_010_000, "http://r", "run")

    assert [task for task in stormy(window, 1) if task.schedule.cron]
