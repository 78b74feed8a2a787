from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import installation, machines_stand
from bench.installation import Installation
from bench.machines_stand import Machine, Machines, active_since, by_machine
from bench.peers.contender import Recorded
from bench.peers.plan import Plan
from bench.peers.punctual import Punctual


class Group:
    """A quota that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def take(self, pids: list[int]) -> None:
        self.told.append(("take", list(pids)))

    def limit(self, cores: float) -> None:
        self.told.append(cores)

    def free(self) -> None:
        self.told.append("free")


class Server:
    """A server that needs no program."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.url = f"{kind}://"
        self.pid = hash(kind)


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Replace servers, machines and groups; filled with a group for each machine."""
    found: list[Group] = []

    @contextmanager
    def quota(name: str) -> Iterator[Group]:
        found.append(Group())
        yield found[-1]

    @contextmanager
    def started(
        command: tuple[str, ...], *, keep: bool, **environment: str
    ) -> Iterator[Installation]:
        yield Installation(f"http://{environment['HOST']}", command[-1], environment, 4711)

    @contextmanager
    def running(server: Server) -> Iterator[Server]:
        yield server

    monkeypatch.setattr(machines_stand, "quota", quota)
    monkeypatch.setattr(machines_stand, "_running", running)
    monkeypatch.setattr(machines_stand, "HostPostgres", lambda *_: Server("postgresql"))
    monkeypatch.setattr(machines_stand, "HostValkey", lambda *_: Server("valkey"))
    monkeypatch.setattr(machines_stand, "descendants", lambda pid: [pid, pid + 1])
    monkeypatch.setattr(installation, "started", started)
    monkeypatch.setattr(Machines, "look", lambda _: None)
    monkeypatch.setattr(Punctual, "schedule", lambda *_: None)
    return found


def started(count: int, cores: float | None, scratch: Path) -> Machines:
    found = Machines(count, cores)
    found.start(scratch)
    return found


def test_machines_share_the_servers_and_the_secrets_and_nothing_else(
    groups: list[Group], tmp_path: Path
):
    found = started(2, None, tmp_path)

    first, second = (one.product.environment for one in found._machines)
    same = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ENCRYPTION_KEYS")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert first["HOST"] != second["HOST"]
    assert first["DATA_DIR"] != second["DATA_DIR"]
    # The owner's key of the first one holds for the second, too.
    assert second["BOOTSTRAP_API_KEY"] == found._machines[0].product.api_key
    found.stop()


def test_the_processor_is_shared_out_when_everything_has_been_created(
    groups: list[Group], tmp_path: Path
):
    found = started(2, 0.25, tmp_path)

    found.schedule(Plan("", 1, 0))

    assert found.shared_out
    assert [group.told for group in groups] == [[("take", [4711, 4712]), "free", 0.25]] * 2
    found.stop()


def test_without_shares_nothing_is_limited(groups: list[Group], tmp_path: Path):
    found = started(1, None, tmp_path)

    found.schedule(Plan("", 1, 0))

    assert not found.shared_out
    assert [group.told for group in groups] == [[("take", [4711, 4712])]]
    found.stop()


def test_processes_are_known_by_kind_and_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Punctual, "look", lambda _: None)
    monkeypatch.setattr(Installation, "kinds", lambda _: {7: "worker"})
    found = Machines(1)
    found._machines = [Machine("machine-1", Installation("", "", {}), None)]
    found._servers = {5: "postgresql"}

    found.look()

    assert found.kinds() == {5: "postgresql", 7: "worker@machine-1"}


class Session:
    """Answers the question for schedulers and that for workers."""

    def __init__(self) -> None:
        self.bounds: list[tuple[str, ...]] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: bytes, bounds: tuple[str, ...]) -> Session:
        self.bounds.append(bounds)
        self.rows = (
            [("scheduler-1@machine-1", 9)]
            if b"scheduler_nodes" in statement
            else [("worker-1@machine-1:7-a", 4), ("worker-1@machine-2:8-b", 5)]
        )
        return self

    def fetchall(self) -> list[tuple[str, int]]:
        return self.rows


def test_who_has_done_what_is_noted_when_all_is_recorded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Punctual, "recorded", lambda *_: Recorded(9, 0))
    session = Session()
    monkeypatch.setattr(Machines, "session", lambda _: session)
    monkeypatch.setattr(
        Machines, "_consumers", lambda _: [{"name": b"recorder-1@machine-2:9", "inactive": 5}]
    )
    found = Machines(2)

    assert found.recorded(Plan("", 9, 1_800_000_000_000, step_ms=1.0)).count == 9

    assert found.shares == {
        "scheduler": {"machine-1": 9},
        "worker": {"machine-1": 4, "machine-2": 5},
    }
    assert session.bounds == [("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:00.008Z")] * 2


def test_names_of_several_processes_are_summed_by_machine():
    assert by_machine({"worker-1@a:1-x": 2, "worker-2@a:2-y": 3, "worker-1@b:1-x": 4}) == {
        "a": 5,
        "b": 4,
    }


def test_a_recorder_that_read_nothing_since_the_beginning_did_nothing():
    consumers = [
        {"name": b"recorder-1@machine-1:1", "inactive": 400},
        {"name": b"recorder-1@machine-2:1", "inactive": 90_000},
    ]

    assert active_since(10_000, 11_000, consumers) == ["machine-1"]
