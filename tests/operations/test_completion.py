"""The scripts of shells: that of bash is run by bash itself, those of others where they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from operations.completion import SHELLS, bash, fish

_ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(left over)
_punctual
echo "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "punctual.bash"
    path.write_text(bash(), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("manage.py comple", "completion"),
        ("./manage.py tasks rollb", "rollback"),
        (".venv/bin/python manage.py tasks rollb", "rollback"),
        ("python3 manage.py comple", "completion"),
        ("manage.py tasks list --stat", "--status"),
        ("manage.py bulk list --status PEN", "PENDING"),
        ("manage.py completion fi", "fish"),
        # Files, by the shell's own completion.
        ("python other.py comple", ""),
        ("python oth", ""),
        ("manage.py unknown ", ""),
    ],
)
def test_bash_completes_commands_verbs_options_and_words(script: Path, line: str, wanted: str):
    words = ["bash", "-c", _ASK, "bash", str(script), *line.split(" ")]
    found = subprocess.run(words, capture_output=True, text=True, check=True)

    assert (found.stdout.strip(), found.stderr) == (wanted, "")


def test_fish_knows_verbs_options_and_words():
    lines = fish().splitlines()
    status = "'__fish_seen_subcommand_from bulk; and __fish_seen_subcommand_from list' -l status "

    [found] = [line for line in lines if status in line]
    assert f"{status}-r -f -a 'PENDING RUNNING COMPLETED CANCELLED STOPPED' -d " in found
    assert any(" -a rollback -d " in line for line in lines)
    assert any(line.endswith("-d 'do not ask'") and " -r" not in line for line in lines)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_each_shell_reads_its_script(shell: str, tmp_path: Path):
    if shutil.which(shell) is None:
        assert shell != "bash"
        return
    path = tmp_path / "script"
    path.write_text(SHELLS[shell](), encoding="utf-8")

    subprocess.run([shell, "-n", str(path)], check=True)
