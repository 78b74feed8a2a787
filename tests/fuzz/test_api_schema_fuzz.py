"""The API is what its schema says, for whatever a client sends (G3, G4)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from executions.triggering.triggers import run_task
from tests.factories import ACTOR, make_key, make_task, make_tenant

#: Made-up calls per operation, each time and in `make test-long`. The phase `coverage` makes
#: thousands more, one per constraint of the schema: FUZZ_PHASES=examples,coverage,fuzzing, for a
#: run by hand.
EXAMPLES = [1, pytest.param(int(os.environ.get("FUZZ_EXAMPLES", "20")), marks=pytest.mark.slow)]
PHASES = os.environ.get("FUZZ_PHASES", "examples,fuzzing")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_call_made_from_the_schema_finds_a_server_error_or_an_undescribed_answer(
    live_server: LiveServer, tmp_path: Path, examples: int
) -> None:
    tenant = make_tenant()
    _, key = make_key(tenant, owner=True)
    task = make_task(tenant)
    execution = run_task(tenant.id, task.id, None, actor=ACTOR)
    (tmp_path / "schemathesis.toml").write_text(
        f'[parameters]\n"path.task_id" = "{task.id}"\n"path.execution_id" = "{execution.id}"\n'
    )

    found = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{live_server.url}/v1/schema/",
            f"--header=Authorization: Bearer {key}",
            f"--max-examples={examples}",
            f"--checks={CHECKS}",
            f"--phases={PHASES}",
            "--continue-on-failure",
            "--seed=1",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    said = found.stdout.partition(" FAILURES ")[2] or found.stdout
    assert found.returncode == 0, said[:8000] + found.stderr[-2000:]
