"""What root starts runs as an account of its own, on data that belongs to it."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.support.installation import Installation, installation
from tests.support.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="starts an installation as root"),
]
COMMANDS = {"ALLOWED_COMMANDS": "sh=/bin/sh"}
#: What the product shows of itself: its user ids, and the rights that it holds.
SHOWN = ("Uid", "CapEff", "CapAmb")
_OTHER_ACCOUNTS = sum(1 << number for number in (0, 1, 3, 5, 6, 7))


@pytest.fixture(scope="module")
def punctual() -> Iterator[Installation]:
    """Give an installation whose data directory an older version has left to root and nobody."""
    nobody = pwd.getpwnam("nobody").pw_uid
    with (
        tempfile.TemporaryDirectory(prefix="punctual-root-") as directory,
        installation(Path(directory) / "data") as running,
    ):
        running.start()
        assert running.stop() == 0
        _disown(running.data_dir, nobody)
        running.start(**COMMANDS)
        yield running
        assert running.stop() == 0


def test_every_process_of_every_kind_runs_as_the_account_and_none_as_root(punctual):
    account = pwd.getpwnam("punctual").pw_uid
    listed = {process["name"]: process["pid"] for process in punctual.processes()}
    assert set(listed) >= {
        "postgresql",
        "valkey",
        "web-1",
        "receiver-1",
        "scheduler-1",
        "worker-1",
        "worker-commands-1",
        "system-worker-1",
        "recorder-1",
    }
    assert punctual.process is not None
    supervisor = punctual.process.pid

    shown = {pid: _status(pid) for pid in (supervisor, *_below(supervisor))}

    assert set(listed.values()) < set(shown)
    assert {status["Uid"] for status in shown.values()} == {" ".join([str(account)] * 4)}
    # To run programs as another account takes a right; who has no such work has none.
    empowered = {pid for pid, status in shown.items() if int(status["CapEff"], 16)}
    fork_server = {pid for pid in shown if _name(pid) == "punctual: fork server"}
    assert empowered == {supervisor, listed["worker-commands-1"], *fork_server}
    assert {int(shown[pid]["CapEff"], 16) for pid in empowered} == {_OTHER_ACCOUNTS}


def test_the_data_directory_belongs_to_the_account_whoever_had_it_before(punctual):
    account = pwd.getpwnam("punctual").pw_uid

    assert {path.lstat().st_uid for path in _everything(punctual.data_dir)} == {account}


def test_what_commands_of_root_write_there_belongs_to_the_account(punctual):
    account = pwd.getpwnam("punctual").pw_uid
    (punctual.data_dir / "mail").mkdir(exist_ok=True)
    (punctual.data_dir / "mail" / "by-root.eml").write_text("x")

    assert punctual.manage("doctor").returncode in (0, 1)
    assert punctual.manage("tasks", "list").returncode == 0

    assert {path.lstat().st_uid for path in _everything(punctual.data_dir)} == {account}


def test_a_program_runs_as_an_account_of_its_own_and_leaves_nothing_behind(punctual):
    script = "id -u; id -G; grep Cap /proc/self/status; pwd; mkdir -m 700 kept; touch kept/file"
    target = {"kind": "command", "command": "sh", "arguments": ["-c", script]}
    task = {"name": "program", "schedule": {"delay_seconds": 0}, "target": target}
    task_id = punctual.call("POST", "/v1/tasks", task)["id"]

    def ended() -> str:
        found = punctual.call("GET", f"/v1/tasks/{task_id}/executions")["executions"]
        states = {one["status"] for one in found}
        assert not states & {"DEAD_LETTERED", "FAILED"}
        return str(found[0]["id"]) if "SUCCEEDED" in states else ""

    shown = _log(punctual, until(ended)).splitlines()

    assert shown[:2] == ["65532", "65532"]
    held = {line.split()[0]: int(line.split()[1], 16) for line in shown if line.startswith("Cap")}
    assert {held[name] for name in ("CapInh:", "CapPrm:", "CapEff:", "CapAmb:")} == {0}
    assert shown[-1].startswith("/")
    assert not Path(shown[-1]).exists()


def _log(punctual: Installation, execution_id: str) -> str:
    request = Request(
        f"http://127.0.0.1:{punctual.port}/v1/executions/{execution_id}/log",
        headers={"Authorization": f"Bearer {punctual.key}"},
    )
    with urlopen(request, timeout=120) as answer:
        return str(answer.read().decode())


def _disown(data_dir: Path, nobody: int) -> None:
    """Let the directory belong to whom it belonged when the servers ran as nobody."""
    for path in _everything(data_dir):
        servers = {"postgres", "valkey", "logs"} & set(path.relative_to(data_dir).parts)
        owner = nobody if servers else 0
        os.chown(path, owner, owner, follow_symlinks=False)
    os.chown(data_dir, 0, nobody)
    data_dir.chmod(0o710)


def _everything(data_dir: Path) -> list[Path]:
    # The harness writes what `up` says there.
    return [data_dir, *(path for path in data_dir.rglob("*") if path.name != "up.log")]


def _below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from _below(int(child))


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {name: " ".join(found[name].split()) for name in SHOWN}


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().strip("\0 ").replace("\0", " ")
