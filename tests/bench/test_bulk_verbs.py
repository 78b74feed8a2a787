from __future__ import annotations

from bench.bulk_verbs import VERBS, Took, faults_of, task_of, took


def job(**parts: object) -> dict[str, object]:
    return {
        "total": 10,
        "done": 10,
        "created_at": "2026-11-25T10:00:00.000Z",
        "finished_at": "2026-11-25T10:00:00.500Z",
        **parts,
    }


def test_a_job_took_the_time_from_its_creation_to_its_end():
    found = took("pause", job())

    assert (found, found.rate) == (Took("pause", 10, 10, 0.5), 20.0)


def test_what_is_slow_or_left_undone_is_a_fault():
    jobs = [Took("pause", 10, 10, 0.5), Took("resume", 10, 9, 0.5), Took("delete", 10, 10, 1.0)]

    assert faults_of(jobs, 10, 1.0) == [
        "resume: 9 of 10 were done",
        "delete: 1.00 s, not under 1",
    ]


def test_every_fourth_task_fires_each_second():
    fast = [task_of("kept", number, "http://x", 4)["schedule"] for number in range(8)]

    assert [one["cron_expression"] == "* * * * * *" for one in fast] == [True, *[False] * 3] * 2


def test_tasks_at_rest_fire_once_a_day():
    asleep = [task_of("kept", number, "http://x", 0)["schedule"] for number in range(8)]

    assert {one["cron_expression"] for one in asleep} == {"0 3 * * *"}


def test_what_is_deleted_is_not_used_again():
    assert VERBS[-2:] == (("kept", "delete"), ("ended", "cancel"))
