from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from bench.installation import CHECKOUT, Installation, InstallationError
from bench.upgrade import PROCESSES, Fleet, SharedSite, Upgrade, options
from launcher.plan import make_stages, read_options
from operations.proof.workload import Window

PAGE = CHECKOUT / "docs" / "operations" / "upgrade.md"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout whose ``manage.py`` tells its arguments and its name, or fails."""
    made = tmp_path / "other"
    python = made / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (made / "manage.py").write_text(
        "import os, sys\n"
        "print(*sys.argv[1:], os.environ.get('PROCESS_NAME'), flush=True)\n"
        "sys.exit('no such command' if 'wrong' in sys.argv else 0)\n"
    )
    return made


def fleet(tmp_path: Path) -> Fleet:
    return Fleet(dict(os.environ), tmp_path / "log")


def test_processes_are_replaced_in_the_order_of_the_page():
    steps = re.findall(r"^\d\. Restart \*\*(\w+)s?\*\*", PAGE.read_text(), re.MULTILINE)
    kinds = [kind for kind, _ in PROCESSES.values() if kind != "system-worker"]

    assert [step.removesuffix("s") for step in steps] == list(dict.fromkeys(kinds))


def test_every_kind_that_up_runs_is_replaced(monkeypatch: pytest.MonkeyPatch):
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "somewhere")
    monkeypatch.setenv("TEST_RECEIVER", "0")
    run = {
        (spec.kind, spec.argv[2:])
        for stage in make_stages(read_options(), {})
        for spec in stage.processes
    }

    assert set(PROCESSES.values()) == run


def test_a_process_runs_from_its_checkout_under_its_name(tmp_path: Path, checkout: Path):
    found = fleet(tmp_path)

    found.start("system-worker", checkout)

    assert found.processes["system-worker"].wait(30) == 0
    assert found.log.read_text() == "run_worker --pool system system-worker\n"


def test_a_command_that_fails_says_which_and_why(tmp_path: Path, checkout: Path):
    with pytest.raises(InstallationError, match=r"wrong of .*other failed: no such command"):
        fleet(tmp_path).command(checkout, "wrong")


async def test_a_process_that_ends_before_it_is_live_is_an_error(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bench.upgrade.is_live", lambda *_: False)
    site = SharedSite(Installation("http://127.0.0.1:2", "key", {}))
    (checkout / "manage.py").write_text("raise SystemExit(3)")

    with pytest.raises(InstallationError, match="worker-1 ended with 3"):
        await Upgrade(fleet(tmp_path), site).started("worker-1", checkout)


def test_an_upgrade_that_outlives_its_load_or_leaves_a_process_shows_nothing(tmp_path: Path):
    window = Window(0, 60_000, "http://127.0.0.1:2", "w")
    site = SharedSite(Installation("http://127.0.0.1:2", "key", {}))
    upgrade = Upgrade(fleet(tmp_path), site, dict.fromkeys(PROCESSES, 1.0), ended_ms=59_000)

    assert upgrade.problems(window) == []
    upgrade.ended_ms = 61_000
    assert upgrade.problems(window) == ["the load ended before the upgrade: give more --seconds"]
    del upgrade.took["web"]
    assert upgrade.problems(window)[0] == "only 7 of 8 processes were replaced"


def test_the_other_checkout_has_to_be_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        options([])

    assert "--other" in capsys.readouterr().err
