from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from launcher import local_state
from launcher.run_lock import RunLock
from operations.storm import ground as ground_module
from operations.storm.ground import Ground, find_ground
from operations.storm.order import Order
from shared.exceptions import Conflict, InvalidInput, Unavailable
from shared.redis_client import OUTCOME_STREAM
from tests.operations.storm.grounds import process, runtime

ORDER = Order(60.0, ("scheduler", "worker", "redis"), 1)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    with RunLock(tmp_path):
        yield tmp_path


def write(data_dir: Path, **changes: Any) -> None:
    local_state.write_runtime(data_dir, runtime(**changes))


def test_where_nothing_runs_there_is_no_storm(tmp_path: Path):
    write(tmp_path)  # left over: nobody holds the lock

    with pytest.raises(Unavailable, match="does not run"):
        find_ground(tmp_path, ORDER)


def test_a_start_under_way_is_waited_for(data_dir: Path):
    write(data_dir, processes=[process("valkey", "valkey")])

    with pytest.raises(Unavailable, match="still starting"):
        find_ground(data_dir, ORDER)


def test_a_server_that_up_did_not_start_is_never_touched(data_dir: Path):
    write(data_dir, processes=[process("web", "web-1"), process("scheduler", "scheduler-1")])

    with pytest.raises(InvalidInput, match="redis is a server of its own"):
        find_ground(data_dir, Order(60.0, ("redis",), 1))
    with pytest.raises(InvalidInput, match="others may use it"):
        find_ground(data_dir, Order(60.0, ("scheduler",), 1, flush=True))


def test_a_receiver_that_is_turned_off_is_a_conflict(data_dir: Path):
    write(data_dir, receiver_url="")

    with pytest.raises(Conflict, match="TEST_RECEIVER"):
        find_ground(data_dir, ORDER)


def test_a_receiver_that_webhooks_may_not_reach_is_a_conflict(data_dir: Path):
    write(data_dir, webhook_allowed_networks="10.0.0.0/8")

    with pytest.raises(Conflict, match="WEBHOOK_ALLOWED_NETWORKS"):
        find_ground(data_dir, ORDER)


def test_only_workers_of_the_loaded_pool_and_living_processes_are_targets(data_dir: Path):
    write(data_dir)
    ground = find_ground(data_dir, ORDER)

    assert [one.name for one in ground.targets("worker")] == ["worker-1"]
    assert ground.targets("redis") == []


def test_a_process_is_killed_again_only_after_it_has_lived_for_a_while(data_dir: Path):
    now = time.time()
    write(
        data_dir,
        processes=[
            process("web", "web-1"),
            process("valkey", "valkey"),
            process("scheduler", "scheduler-1"),
            process("worker", "worker-1", restarts=1, started_at=now - 5),
            process("worker", "worker-2", restarts=1, started_at=now - 60),
        ],
    )
    ground = find_ground(data_dir, ORDER)

    assert [one.name for one in ground.targets("worker")] == ["worker-2"]
    assert len(ground.living("worker")) == 2


@pytest.mark.parametrize(
    ("pid", "answers", "recovered"), [(7, True, True), (None, True, False), (7, False, False)]
)
async def test_recovery_needs_every_process_and_an_answer(
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    pid: int | None,
    answers: bool,
    recovered: bool,
):
    async def answers_ok(host: str, port: int, path: str) -> bool:
        assert (host, port, path) == ("127.0.0.1", 8000, "/readyz")
        return answers

    monkeypatch.setattr(ground_module, "answers_ok", answers_ok)
    write(data_dir, processes=[process("web", "web-1"), process("worker", "worker-1", pid)])
    ground = find_ground(data_dir, Order(60.0, ("worker",), 1))

    assert await ground.until_recovered(0) is recovered


def test_what_waits_to_be_recorded_is_dated_by_its_oldest(servers: tuple[str, str], tmp_path: Path):
    _, redis_url = servers
    ground = Ground(tmp_path, "", "", redis_url)
    assert ground.unrecorded_since_ns() is None

    with redis.Redis.from_url(redis_url) as client:
        for number in range(2):
            client.xadd(OUTCOME_STREAM, {"d": "x"}, id=f"{1_800_000_000_000 + number}-0")

    assert ground.unrecorded_since_ns() == 1_800_000_000_000_000_000
