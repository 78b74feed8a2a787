from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from events.models import AuditEntry
from operations import tenant_export
from operations.exported_tables import PLAIN, READ_APART
from operations.tenant_export import export_tenant
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.access.world import SEEN_BY_NONE, SEEN_BY_READERS, make_world
from tests.factories import ACTOR, daily, make_client, make_execution, make_task, once
from tests.support.workflows import make_workflow

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _push_key(settings: Any) -> None:
    """Let the world have a browser that takes pushes."""
    settings.VAPID_PRIVATE_KEY = "A" * 42 + "E"


def export(tenant: Tenant, path: Path, *, with_payloads: bool = False) -> dict[str, Any]:
    """Export a tenant; return the rows of each file."""
    export_tenant(tenant, path, with_payloads=with_payloads, actor=ACTOR)
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".jsonl"): [
                orjson.loads(line) for line in archive.read(name).splitlines()
            ]
            for name in archive.namelist()
        }


def test_every_kind_of_rows_is_in_the_file_without_secrets_and_payloads(tmp_path: Path):
    world = make_world()

    found = export(world.tenant, tmp_path / "out.zip")

    kinds = (
        "tenant members invitations api_keys signing_secrets data_keys calendars secrets pauses "
        "pools bulk_jobs alerts alert_channels notification_preferences push_subscriptions tasks "
        "task_versions executions attempts dead_letters workflow_runs workflow_steps audit erasures"
    )
    assert [kind for kind in kinds.split() if not found[kind]] == []
    assert {one.name for one in PLAIN} | set(READ_APART.values()) == found.keys()
    text = orjson.dumps(found).decode()
    assert SEEN_BY_NONE not in text
    assert f"{SEEN_BY_READERS}-payload" not in text
    assert "key_hash" not in text


def test_the_limits_and_settings_of_the_tenant_are_in_it(tmp_path: Path, alpha: Tenant):
    Tenant.objects.update(tier="default", quotas={"stored_tasks": 7}, weight=3)

    [row] = export(alpha, tmp_path / "out.zip")["tenant"]

    assert (row["tier"], row["quotas"], row["weight"]) == ("default", {"stored_tasks": 7}, 3)


def test_versions_and_steps_of_workflows_are_in_it_and_masked_as_they_are_now(
    tmp_path: Path, alpha: Tenant
):
    task = make_task(alpha, daily(payload={"card": "4111-canary"}))
    client = make_client(alpha)
    assert client.patch(f"/v1/tasks/{task.id}", {"redact": ["$.card"]}).status_code == 200
    step = {"key": "a", "target": once()["target"], "payload": {"text": "canary-of-step"}}
    make_workflow(alpha, [step])

    bare = export(alpha, tmp_path / "bare.zip")
    whole = export(alpha, tmp_path / "whole.zip", with_payloads=True)

    assert [row["version"] for row in bare["task_versions"]] == [1, 2, 1]
    assert "4111-canary" not in orjson.dumps([bare, whole]).decode()
    assert "canary-of-step" not in orjson.dumps(bare).decode()
    assert "canary-of-step" in orjson.dumps(whole["tasks"]).decode()


def test_each_end_of_a_step_is_in_it_once_also_of_a_run_with_several_takes(tmp_path: Path):
    world = make_world()

    found = export(world.tenant, tmp_path / "out.zip")

    steps = [
        (row["run_id"], row["take"], row["step"], row["item"]) for row in found["workflow_steps"]
    ]
    assert len(steps) == len(set(steps))
    taken = {(row["id"], row["take"], row["status"] is None) for row in found["workflow_runs"]}
    assert {run for run, *_ in steps} <= {run for run, *_ in taken}
    assert {str(world.ids["run_id"]), str(world.ids["failed_run_id"])} <= {run for run, *_ in taken}


def test_payloads_are_decrypted_only_where_asked_for_and_secrets_never(tmp_path: Path):
    world = make_world()

    found = export(world.tenant, tmp_path / "out.zip", with_payloads=True)

    text = orjson.dumps([found["tasks"], found["executions"], found["dead_letters"]]).decode()
    assert f"{SEEN_BY_READERS}-payload" in text
    assert SEEN_BY_NONE not in orjson.dumps(found).decode()


def test_all_rows_are_written_some_at_a_time(
    tmp_path: Path, alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tenant_export, "_AT_ONCE", 2)
    ids = {str(make_task(alpha, once(name=f"task {n}")).id) for n in range(5)}

    found = export(alpha, tmp_path / "out.zip")

    assert {row["id"] for row in found["tasks"]} == ids
    assert len(found["tasks"]) == 5


def test_nothing_of_another_tenant_is_in_it(tmp_path: Path, alpha: Tenant, beta: Tenant):
    execution = make_execution(beta, "SUCCEEDED")

    found = export(alpha, tmp_path / "out.zip")

    assert found["executions"] == found["attempts"] == found["tasks"] == []
    assert str(execution.id) not in orjson.dumps(found).decode()


def test_the_file_is_its_owners_alone_and_replaces_none(tmp_path: Path, alpha: Tenant):
    path = tmp_path / "out.zip"
    export(alpha, path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(Conflict):
        export(alpha, path)
    assert [one.name for one in tmp_path.iterdir()] == ["out.zip"]


@pytest.mark.parametrize("with_payloads", [False, True])
def test_an_export_is_audited_with_whether_payloads_are_in_it(
    tmp_path: Path, alpha: Tenant, with_payloads: bool
):
    export(alpha, tmp_path / "out.zip", with_payloads=with_payloads)

    entry = AuditEntry.objects.get(action="tenant.exported")
    assert entry.after is not None
    assert orjson.loads(entry.after) == {"with_payloads": with_payloads}
