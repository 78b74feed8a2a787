from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from insight.presentation.statistics import (
    present_overview,
    present_schedulers,
    present_throughput,
    present_workers,
)
from insight.statistics import (
    MinutePoint,
    Overview,
    PartitionView,
    RecorderView,
    SchedulerView,
    StartDelay,
    WorkerView,
)

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_an_overview_keeps_now_and_the_last_hour_apart():
    overview = Overview(
        at=AT,
        due_now=1,
        late=2,
        queued=3,
        running=4,
        retrying=5,
        exact=False,
        oldest_due_seconds=1.23456,
        succeeded_last_hour=3,
        failed_last_hour=1,
        retried_last_hour=7,
        late_last_hour=8,
        start_delay=StartDelay(1.0, 2.0, 5.0, 4),
        dead_letters_open=9,
        paused_tasks=6,
        standing_pauses=1,
    )

    shown = present_overview(overview)

    assert (shown["at"], shown["oldest_due_seconds"]) == ("2026-11-20T12:00:00.000Z", 1.235)
    assert (shown["late"], shown["exact"]) == (2, False)
    assert (shown["paused_tasks"], shown["standing_pauses"]) == (6, 1)
    assert shown["last_hour"] == {
        "succeeded": 3,
        "failed": 1,
        "retried": 7,
        "late": 8,
        "success_rate": 0.75,
        "start_delay_ms": {"p50": 1.0, "p95": 2.0, "p99": 5.0, "count": 4},
    }


def test_minutes_come_with_the_bounds_of_their_buckets():
    shown = present_throughput([MinutePoint(AT, succeeded=2)])

    (minute,) = shown["minutes"]
    assert (minute["minute"], minute["succeeded"]) == ("2026-11-20T12:00:00.000Z", 2)
    assert len(minute["start_delays"]) == len(shown["bucket_bounds_ms"]) + 1


def test_a_worker_of_unknown_version_says_null():
    worker = WorkerView(
        id="w@h:1",
        leases=False,
        name="w",
        host="h",
        pid=1,
        pool="default",
        version="",
        state="live",
        silent_seconds=0.12345,
        capacity=1,
        in_flight=0,
        held=0,
        cpu_percent=None,
        memory_bytes=None,
        settled=True,
        heeds=True,
    )

    shown = present_workers([worker], [RecorderView("r", 0.5, True, 0)])

    assert shown["workers"][0]["version"] is None
    assert shown["workers"][0]["silent_seconds"] == 0.123
    assert "pid" not in shown["workers"][0]
    assert shown["recorders"][0]["name"] == "r"


def test_a_partition_without_owner_and_lease_says_null():
    node = SchedulerView(uuid4(), "s", "h", 1, AT, 0.5, True, True, 0)

    shown = present_schedulers([node], [PartitionView(0, None, 3, None)])

    assert shown["schedulers"][0]["id"] == str(node.id)
    assert shown["partitions"] == [
        {"partition": 0, "owner": None, "owned": False, "epoch": 3, "expires_at": None}
    ]
