from __future__ import annotations

from pathlib import Path

import pytest

from launcher import local_state
from launcher.run_lock import RunLock
from operations.management.commands import storm
from tenants.models import Tenant
from tests.factories import make_execution, make_tenant
from tests.operations.storm.grounds import runtime
from tests.operations.storm.made_up import everything, findings
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def _running(data_dir: Path):
    local_state.write_runtime(data_dir, runtime(processes=[*_processes()]))
    with RunLock(data_dir):
        yield


def _processes():
    for kind in ("web", "scheduler", "worker", "recorder"):
        yield {"kind": kind, "name": f"{kind}-1", "pid": 1, "restarts": 0, "started_at": 1.0}


def test_where_nothing_runs_it_says_so_and_leaves_nothing():
    said = call("storm", "--yes")

    assert said.code == 5
    assert "manage.py up" in said.err
    assert not Tenant.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--kill", "web"),
        ("--kill", ""),
        ("--minutes", "0.1"),
        ("--minutes", "nan"),
        ("--rate", "0"),
        ("--every", "-1"),
    ],
)
def test_what_cannot_be_is_wrong_use(words):
    assert call("storm", "--yes", *words).code == 2


@pytest.mark.usefixtures("_running")
def test_other_tenants_with_due_work_are_not_disturbed_unasked():
    make_execution(make_tenant("other"))

    said = call("storm")

    assert said.code == 4
    assert "1 tenants have work" in said.err


@pytest.mark.usefixtures("_running")
def test_it_asks_first(monkeypatch):
    type_in(monkeypatch, "n\n")

    assert call("storm").code == 1
    assert not Tenant.objects.exists()


@pytest.mark.usefixtures("_running")
@pytest.mark.parametrize(("lines", "code"), [(everything(), 0), (everything()[1:], 1)])
def test_it_prints_what_came_of_it_and_fails_for_a_broken_promise(monkeypatch, lines, code):
    monkeypatch.setattr(storm, "run_storm", lambda *_: findings(lines))

    plain = call("storm", "--yes", "--minutes", "0.5")
    said = call("storm", "--yes", "--minutes", "0.5", "--json")

    assert (plain.code, said.code) == (code, code)
    document = read_document("storm", said.out)
    assert document["kept"] is (code == 0)
    assert ("Every promise was kept." in plain.out) is (code == 0)
    assert not Tenant.objects.filter(name__startswith="storm-").exists()


@pytest.mark.usefixtures("_running")
def test_a_kept_tenant_is_named_and_cleaned_up_later(monkeypatch):
    monkeypatch.setattr(storm, "run_storm", lambda *_: findings(everything()))

    kept = read_document("storm", call("storm", "--yes", "--keep", "--json").out)
    cleaned = read_document("storm", call("storm", "--clean", "--yes", "--json").out)

    assert cleaned["removed"] == [kept["tenant"]]
    assert not Tenant.objects.exists()


@pytest.mark.usefixtures("_running")
def test_an_interrupted_storm_ends_with_130_and_leaves_nothing(monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storm, "run_storm", interrupted)

    assert call("storm", "--yes").code == 130
    assert not Tenant.objects.exists()
