from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from bench.corpora_crontabs import PACKAGES, SUFFIX, jobs_in, judge
from bench.corpora_packages import File

PRODUCT: Any = SimpleNamespace(environment={})


def line(number: int, action: str = "new", reason: str | None = None) -> dict[str, Any]:
    return {"line": number, "action": action, "reason": reason, "notes": []}


def judged(monkeypatch, tmp_path, content: bytes, code: int, answer: Any, path="./etc/cron.d/a"):
    asked: list[str] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.extend(command)
        out = orjson.dumps(answer).decode() if answer is not None else ""
        return SimpleNamespace(returncode=code, stdout=out, stderr="Error: no")

    monkeypatch.setattr(subprocess, "run", run)
    found = judge(File(PACKAGES[0], path, content), PRODUCT, tmp_path / "0")
    return found, Path(asked[4])


def test_a_file_of_which_every_line_is_imported_or_named_is_no_breach(monkeypatch, tmp_path):
    content = b"# a\nA=1\n0 1 * * * root a\n@reboot root b\n"
    answer = {"lines": [line(3), line(4, "refused", "not a time")]}

    found, place = judged(monkeypatch, tmp_path, content, 6, answer)

    assert (found.outcome, found.breach) == ("some named", "")
    assert found.details == {"jobs": 1, "refused": 1, "notes": 0}
    assert place.read_bytes() == content
    assert place.parent.name == "cron.d"


@pytest.mark.parametrize(
    ("code", "answer", "told"),
    [
        (2, None, "exit code 2"),
        (0, {"lines": []}, "neither imported nor named"),
        (1, {"lines": [line(1, "refused", "")]}, "without a reason"),
    ],
)
def test_what_breaks_a_promise_is_told(monkeypatch, tmp_path, code, answer, told):
    found, _ = judged(monkeypatch, tmp_path, b"0 1 * * * root a\n", code, answer)

    assert told in found.breach


def test_a_file_that_takes_too_long_is_a_breach(monkeypatch, tmp_path):
    def run(command: list[str], **_: Any) -> Any:
        raise subprocess.TimeoutExpired(command, 60)

    monkeypatch.setattr(subprocess, "run", run)

    assert judge(File(PACKAGES[0], "a", b""), PRODUCT, tmp_path / "0").breach


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("./etc/crontab", "/etc/crontab"),
        ("./usr/share/doc/a/examples/a.cron.d", "/cron.d/a.cron.d"),
        ("./usr/share/doc/a/examples/crontab", "/personal/crontab"),
    ],
)
def test_the_place_of_a_file_tells_whether_it_has_a_user_column(monkeypatch, tmp_path, path, end):
    _, place = judged(monkeypatch, tmp_path, b"", 0, {"lines": []}, path)

    assert place.as_posix().endswith(end)


def test_comments_variables_and_blank_lines_are_no_jobs():
    assert jobs_in(b'#\n\nA=1\n"B" = 2\n0 1 * * * A=1 b\n \t\n@daily x\n') == {5, 7}


def test_every_listed_file_is_a_path_of_a_pinned_package():
    assert len(set(SUFFIX)) == len(SUFFIX)
    assert all(path.startswith("/") for path in SUFFIX)
    assert all(package.file.startswith(f"{package.name}_") for package in PACKAGES)
