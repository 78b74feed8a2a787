from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.installation import CHECKOUT, InstallationError
from bench.workflows import proofs
from bench.workflows.__main__ import main
from bench.workflows.proofs import TESTS


@pytest.mark.parametrize("part", TESTS)
def test_each_part_names_a_test_that_reads_its_variable(part: str):
    test, variable = TESTS[part]
    path, _, name = test.partition("::")

    source = (CHECKOUT / path).read_text(encoding="utf-8")

    assert f'os.environ.get("{variable}"' in source
    assert not name or f"def {name}(" in source


def ended(monkeypatch: pytest.MonkeyPatch, code: int, output: str) -> list[dict[str, str]]:
    """Let the tests end like this; return what they were given."""
    given: list[dict[str, str]] = []

    def run(command: list[str], *, env: dict[str, str], **_: Any) -> Any:
        given.append(env)
        return subprocess.CompletedProcess(command, code, output, "")

    monkeypatch.setattr(proofs, "subprocess", SimpleNamespace(run=run))
    return given


def test_a_proof_that_holds_is_stored_with_its_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    given = ended(monkeypatch, 0, "2 passed")

    assert main(["joins", "--rounds", "7", "--results", str(tmp_path)]) == 0

    [path] = tmp_path.glob("*-workflows-joins.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert (stored["count"], stored["passed"], stored["problems"]) == (7, True, [])
    assert given[0]["WORKFLOW_ROUNDS"] == "7"


def test_a_proof_that_fails_says_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    ended(monkeypatch, 1, "F\nFAILED tests/x.py::test_x[3] - AssertionError\n1 failed")

    assert main(["graphs", "--results", str(tmp_path)]) == 1

    assert "tests/x.py::test_x[3]" in capsys.readouterr().out


def test_a_proof_that_could_not_run_proves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ended(monkeypatch, 4, "no such file")

    with pytest.raises(InstallationError):
        main(["graphs", "--results", str(tmp_path)])
