"""The import contracts of .importlinter hold, and they catch what they are there to catch."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture import tree

_CONFIG = tree.REPOSITORY / ".importlinter"
# A small house of the same plan, in which every import goes the right way.
_SKELETON = {
    "scheduler_site/celery.py": "import celery\nimport executions.changes.pauses",
    "operations/status.py": "import executions.changes.pauses\nimport launcher.local_state",
    "launcher/local_state.py": "",
    "launcher/management/commands/run_scheduler.py": "import scheduler_site.celery",
    "launcher/management/commands/run_worker.py": "import scheduler_site.celery",
    "dashboard/views/overview.py": "import notifications.services",
    "notifications/services.py": "import insight.explain",
    "api/executions/views.py": "import rest_framework\nimport executions.bulk.jobs",
    "executions/celery_tasks.py": "import celery\nimport worker.loop",
    "insight/explain.py": "import executions.models.execution\nimport workflows.plan",
    "workflows/plan.py": "import executions.run_signals\nimport tasks.editing",
    "executions/run_signals.py": "",
    "executions/bulk/jobs.py": "import executions.changes.pauses",
    "executions/changes/pauses.py": "import executions.loop.clocks\nimport tasks.editing",
    "executions/loop/clocks.py": "",
    "executions/materialize/stage.py": "import executions.ownership.partitions",
    "executions/gate/stage.py": "",
    "executions/housekeeping/stage.py": "",
    "executions/complete/stage.py": "import executions.transitions",
    "executions/rescue/stage.py": "",
    "executions/changes/withdrawal.py": "",
    "executions/changes/replanning.py": "",
    "executions/changes/bulk_pause.py": "",
    "executions/changes/ending_pauses.py": "",
    "executions/changes/suspension.py": "",
    "executions/ownership/partitions.py": "import executions.transitions",
    "executions/transitions.py": "import executions.ledger.days",
    "executions/ledger/days.py": "import executions.loop.clocks",
    "executions/dispatch/stage.py": "import executions.models.execution",
    "worker/loop.py": "import delivery.http_client\nimport tasks.models.task\nimport wire.outcomes",
    "delivery/http_client.py": "import shared.conf\nimport wire.retry",
    "wire/retry.py": "",
    "wire/outcomes.py": "",
    "receiver/server.py": "import delivery.errors\nimport shared.conf",
    "delivery/errors.py": "",
    "executions/models/execution.py": "import executions.states",
    "executions/states.py": "",
    "tasks/editing.py": "import tasks.models.task\nimport tenants.services",
    "tasks/models/task.py": "import tasks.schedules.cron",
    "tasks/schedules/cron.py": "",
    "tenants/models/tenant.py": "",
    "tenants/services.py": "import events.outbox\nimport tenants.models.tenant",
    "events/models/event.py": "",
    "events/outbox.py": "import shared.conf\nimport events.models.event",
    "shared/conf.py": "import django",
    "tests/test_all.py": "import executions.bulk.jobs",
    "bench/latency.py": "import executions.bulk.jobs",
}


def test_the_checkout_keeps_its_contracts():
    done = _lint(tree.REPOSITORY)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_of_the_checkout_is_under_contract():
    config = configparser.ConfigParser()
    config.read(_CONFIG)

    listed = set(config["importlinter"]["root_packages"].split())

    assert set(tree.packages()) <= listed


def test_every_package_of_the_checkout_is_typed_and_measured():
    tools = tomllib.loads((tree.REPOSITORY / "pyproject.toml").read_text())["tool"]

    assert set(tree.packages()) <= set(tools["mypy"]["files"])
    assert set(tree.production_packages()) <= set(tools["coverage"]["run"]["source"])
    assert set(tree.packages()) <= set(tools["ruff"]["lint"]["isort"]["known-first-party"])


def test_a_house_that_keeps_the_contracts_passes(tmp_path: Path):
    done = _lint(_build(tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("tasks/editing.py", "import executions.changes.pauses"),
        ("events/outbox.py", "import tenants.services"),
        ("shared/conf.py", "import events.outbox"),
        ("executions/bulk/jobs.py", "import api.executions.views"),
        ("executions/bulk/jobs.py", "import insight.explain"),
        ("executions/changes/pauses.py", "import executions.bulk.jobs"),
        ("executions/dispatch/stage.py", "import executions.changes.pauses"),
        ("executions/loop/clocks.py", "import executions.dispatch.stage"),
        ("worker/loop.py", "import executions.dispatch.stage"),
        ("worker/loop.py", "import celery"),
        ("delivery/http_client.py", "import worker.loop"),
        ("wire/retry.py", "import delivery.http_client"),
        ("tasks/editing.py", "import wire.retry"),
        ("receiver/server.py", "import tasks.editing"),
        ("executions/states.py", "import executions.models.execution"),
        ("executions/celery_tasks.py", "import api.executions.views"),
        ("tasks/schedules/cron.py", "import tasks.models.task"),
        ("executions/dispatch/stage.py", "import celery"),
        ("tasks/schedules/cron.py", "import rest_framework"),
        ("tenants/services.py", "import bench.latency"),
        ("operations/status.py", "import api.executions.views"),
        ("launcher/local_state.py", "import operations.status"),
        ("launcher/local_state.py", "import scheduler_site.celery"),
        ("scheduler_site/celery.py", "import tests.test_all"),
    ],
)
def test_a_planted_breach_is_caught(tmp_path: Path, module: str, line: str):
    house = _build(tmp_path)
    with (house / module).open("a") as handle:
        handle.write(f"\n{line}\n")

    done = _lint(house)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def _build(root: Path) -> Path:
    for path, source in _SKELETON.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source + "\n")
        for folder in target.relative_to(root).parents:
            if folder != Path():
                (root / folder / "__init__.py").touch()
    return root


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports;"
        f" sys.exit(lint_imports(config_filename={str(_CONFIG)!r}, no_cache=True))"
    )
    return subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
