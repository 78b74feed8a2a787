from __future__ import annotations

from pathlib import Path

from bench.chaos.hosts_up import on_hosts
from launcher.spawning import ProcessSpec
from launcher.supervisor import Stage

LINKS = {"10.231.77.3:6379": "10.231.77.2:7001", "10.231.77.4:5432": "10.231.77.2:7002"}
URLS = {
    "DATABASE_URL": "postgresql://u:p@10.231.77.4:5432/punctual",
    "REDIS_URL": "redis://:p@10.231.77.3:6379/0",
}


def _placed(*names: str, clocks: Path | None = None) -> dict[str, ProcessSpec]:
    specs = [ProcessSpec(n.rpartition("-")[0], n, ("run", n), dict(URLS)) for n in names]
    (stage,) = on_hosts([Stage("web", specs)], LINKS, clocks)
    return {spec.name: spec for spec in stage.processes}


def test_each_process_runs_on_its_host_and_the_test_receiver_where_it_was():
    placed = _placed("scheduler-1", "receiver-1")

    assert placed["scheduler-1"].argv[:2] == ("nsenter", "--net=/run/netns/pnct-scheduler-1")
    assert placed["receiver-1"].argv == ("run", "receiver-1")


def test_the_second_of_a_kind_reaches_the_servers_by_the_proxies():
    placed = _placed("worker-1", "worker-2")

    assert placed["worker-1"].environment["REDIS_URL"] == URLS["REDIS_URL"]
    assert placed["worker-2"].environment["REDIS_URL"] == "redis://:p@10.231.77.2:7001/0"
    assert "10.231.77.2:7002" in placed["worker-2"].environment["DATABASE_URL"]


def test_there_are_two_web_servers_each_on_an_address_of_its_own():
    placed = _placed("web-1")

    assert {spec.environment["HOST"] for spec in placed.values()} == {
        "10.231.77.11",
        "10.231.77.12",
    }
    assert placed["web-2"].environment["PROCESS_NAME"] == "web-2"
    assert placed["web-2"].environment["DATABASE_URL"] == URLS["DATABASE_URL"]


def test_each_process_has_a_clock_file_of_its_own_where_there_are_clocks(tmp_path):
    placed = _placed("worker-1", "worker-2", clocks=tmp_path)

    files = {spec.environment["CLOCK_FILE"] for spec in placed.values()}
    assert files == {str(tmp_path / "worker-1"), str(tmp_path / "worker-2")}
