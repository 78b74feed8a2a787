from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from launcher import leaving_root
from launcher.privileges import account_of

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="leaves root")
ROOT = Path(__file__).resolve().parents[2]
#: A command of the product's that only tells who it is, in place of one that runs for long.
TELLING = """
import os, sys
from launcher.leaving_root import leave_root
if os.geteuid() == 0:
    leave_root()
print(os.getresuid(), os.getcwd(), os.environ["HOME"], os.environ.get("TMPDIR"), sys.argv[1:])
print(os.environ.get("SECRET_KEY"), os.environ.get("SECRET_KEY_FILE"))
"""


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="punctual-root-") as directory:
        yield Path(directory)


def tell(
    data_dir: Path,
    cwd: Path = ROOT,
    words: Sequence[str] = ("-c", TELLING, "some", "words"),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}
        | environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@root_only
def test_a_process_of_roots_starts_anew_as_the_account_with_its_own_words(scratch):
    found = tell(scratch / "data")

    account = account_of(scratch / "data")
    assert account is not None
    expected = (account.uid,) * 3, ROOT, scratch / "data", None, ["some", "words"]
    assert found.stdout.splitlines()[0] == " ".join(str(word) for word in expected)
    assert (scratch / "data").stat().st_uid == account.uid


@root_only
def test_it_works_where_the_account_may_not_be_and_does_not_write_where_it_may_not(scratch):
    closed = scratch / "closed"
    closed.mkdir(mode=0o700)

    found = tell(scratch / "data", cwd=closed, TMPDIR=str(closed))

    assert f" {ROOT} " in found.stdout
    assert " None " in found.stdout


@root_only
def test_a_script_that_is_named_from_where_the_account_may_not_be_is_found(scratch):
    closed, script = scratch / "closed", scratch / "script.py"
    closed.mkdir(mode=0o700)
    script.write_text(TELLING)
    scratch.chmod(0o755)

    found = tell(scratch / "data", closed, words=("-B", "../script.py", "up"))

    assert found.stdout.splitlines()[0].endswith("None ['up']"), found.stderr


@root_only
def test_a_secret_in_a_file_of_roots_is_read_before_and_others_stay_files(scratch):
    secret = scratch / "secret"
    secret.write_text("only root's\n")
    secret.chmod(0o600)

    found = tell(scratch / "data", SECRET_KEY_FILE=str(secret))

    assert found.stdout.splitlines()[1] == f"only root's {secret}"
    secret.chmod(0o644)
    found = tell(scratch / "data", SECRET_KEY_FILE=str(secret))
    assert found.stdout.splitlines()[1] == f"None {secret}"


@root_only
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"PUNCTUAL_USER": "no-such-user"}, "does not exist"),
        ({"PUNCTUAL_USER": "root"}, "not root"),
        ({"ARCHIVE_DIR": "closed"}, "chown -R punctual"),
    ],
)
def test_what_cannot_leave_root_ends_and_never_goes_on_as_root(scratch, environment, message):
    (scratch / "closed").mkdir(mode=0o700)
    if "ARCHIVE_DIR" in environment:
        environment = {"ARCHIVE_DIR": str(scratch / "closed")}

    found = tell(scratch / "data", **environment)

    assert found.returncode != 0
    assert message in found.stderr
    assert found.stdout == ""


def test_an_ordinary_users_process_stays_what_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))

    leaving_root.leave_root()

    assert not (tmp_path / "data").exists()
