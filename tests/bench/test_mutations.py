from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench import mutations
from bench.installation import CHECKOUT, InstallationError
from bench.mutation import Edit, Mutation
from bench.mutation_list import MUTATIONS
from bench.mutations import DoesNotApply, first_failure, main, mutated, planted

SQL = "-- name: one\nWHERE a = 1 AND b\n\n-- name: two\nWHERE a = 1\n"
EDIT = Edit("x.sql", " AND b", "")
MUTATION = Mutation("b-unchecked", "b is not checked", (EDIT,), ("tests/test_b.py",))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_each_mutation_still_applies_to_the_code_and_names_tests_that_are_there(
    mutation: Mutation,
):
    texts: dict[str, str] = {}
    for edit in mutation.edits:
        text = texts.get(edit.path) or (CHECKOUT / edit.path).read_text(encoding="utf-8")
        texts[edit.path] = mutated(text, edit)
        assert texts[edit.path] != text

    for test in mutation.tests:
        path, _, name = test.partition("::")
        source = (CHECKOUT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source


def test_mutations_have_names_of_their_own():
    assert len({one.name for one in MUTATIONS}) == len(MUTATIONS)


def test_a_mutation_changes_its_text_within_its_block_only():
    assert mutated(SQL, EDIT) == SQL.replace(" AND b", "")
    block = Edit("x.sql", "a = 1", "true", "-- name: one\n")
    assert mutated(SQL, block) == "-- name: one\nWHERE true AND b\n\n-- name: two\nWHERE a = 1\n"
    part = Edit("x.sql", "a = 1", "true", "-- part: two\n")
    assert mutated(SQL.replace("name: two", "part: two"), part).endswith("two\nWHERE true\n")


@pytest.mark.parametrize(
    "edit",
    [
        Edit("x.sql", "a = 1", "true"),
        Edit("x.sql", "c = 1", "true"),
        Edit("x.sql", "AND b", "", "-- name: two\n"),
        Edit("x.sql", "a = 1", "true", "-- name: three\n"),
    ],
)
def test_a_text_that_is_not_there_exactly_once_is_refused(edit: Edit):
    with pytest.raises(DoesNotApply):
        mutated(SQL, edit)


def test_what_was_planted_is_taken_back(tmp_path: Path):
    path = tmp_path / "x.sql"
    path.write_text(SQL, encoding="utf-8")

    with planted(tmp_path, MUTATION):
        assert " AND b" not in path.read_text(encoding="utf-8")

    assert path.read_text(encoding="utf-8") == SQL


def run_as(monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, str]) -> list[list[str]]:
    """Let runs of pytest end like this, one after the other; return their commands."""
    left, asked = list(answers), []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        code, output = left.pop(0)
        return subprocess.CompletedProcess(command, code, output, "")

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_the_first_test_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = "..F\nFAILED tests/test_b.py::test_b[1] - AssertionError: assert 1 - 1\n1 failed"
    run_as(monkeypatch, (1, said), (0, "3 passed"))

    assert first_failure(tmp_path, ["tests/test_b.py"]) == "tests/test_b.py::test_b[1]"
    assert first_failure(tmp_path, ["tests/test_b.py"]) == ""


@pytest.mark.parametrize(
    "answer",
    [
        (4, "ERROR: file or directory not found"),
        (1, "ERROR tests/test_b.py::test_b - no server"),
        (1, "FAILED tests/test_b.py::test_b - psycopg.errors.SyntaxError: near AND"),
    ],
)
def test_a_failure_for_another_reason_is_no_catch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str]
):
    run_as(monkeypatch, answer)

    with pytest.raises(InstallationError):
        first_failure(tmp_path, ["tests/test_b.py"])


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = tmp_path / "checkout"
    tree.mkdir()
    (tree / "x.sql").write_text(SQL, encoding="utf-8")
    monkeypatch.setattr(mutations, "CHECKOUT", tree)
    monkeypatch.setattr(mutations, "MUTATIONS", (MUTATION,))
    return tree


CAUGHT = (1, "FAILED tests/test_b.py::test_b - assert 0")
PASSED = (0, "1 passed")
NOT_RUN = (1, "ERROR tests/test_b.py::test_b - no server")


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ([PASSED, CAUGHT], 0, "caught by tests/test_b.py::test_b"),
        ([PASSED, NOT_RUN, CAUGHT], 0, "caught by tests/test_b.py::test_b"),
        ([PASSED, PASSED], 1, "SURVIVED"),
    ],
)
def test_the_report_says_what_was_caught_and_what_survived(
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: list[tuple[int, str]],
    code: int,
    said: str,
):
    run_as(monkeypatch, *answers)

    assert main([]) == code

    assert said in capsys.readouterr().out
    assert (checkout / "x.sql").read_text(encoding="utf-8") == SQL


def test_a_mutation_that_cannot_be_tried_ends_the_run(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
):
    run_as(monkeypatch, PASSED, NOT_RUN, NOT_RUN)

    with pytest.raises(InstallationError):
        main([])


def test_tests_that_fail_without_a_mutation_prove_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
):
    run_as(monkeypatch, CAUGHT)

    with pytest.raises(InstallationError, match="as it is"):
        main([])


def test_mutations_are_listed_and_chosen_by_name(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked = run_as(monkeypatch)

    assert main(["--list"]) == 0
    assert "b is not checked" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert not asked
