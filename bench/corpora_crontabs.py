"""Real crontabs, each imported by ``manage.py tasks import`` as an operator would.

Kept is: the command ends with 0, with 1 or 6 where lines were refused, and with nothing else; every
line that is a job is imported or named with a reason; each file is done within the time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from bench.corpora_crontabs_list import PACKAGES, PATHS
from bench.corpora_packages import File
from bench.corpora_verdict import Verdict
from bench.installation import CHECKOUT, Installation

SUFFIX = PATHS
__all__ = ["LEAST", "PACKAGES", "SUFFIX", "judge", "judge_all"]
#: Fewer would be no sample of what packages install.
LEAST = 100
#: For one file: a command starts in three seconds, ten times as long on a busy machine.
SECONDS = 60.0
_URL = "https://runner.example.com/run"
_VARIABLE = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[^\s=]+)\s*=")
#: Exit codes: everything was imported, nothing was, a part was.
_DONE, _NOTHING, _PART = 0, 1, 6


def judge_all(found: list[File], product: Installation) -> Iterator[Verdict]:
    """Import each file, and yield what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(found):
            yield judge(file, product, Path(folder) / str(number))


def judge(file: File, product: Installation, folder: Path) -> Verdict:
    """Import one file at a place whose name tells whether it has a user column."""
    place = PurePosixPath(file.path)
    target = folder / _folder(place) / place.name
    target.parent.mkdir(parents=True)
    target.write_bytes(file.content)
    begin = time.monotonic()
    code, answer = _import(target, product)
    seconds = time.monotonic() - begin
    lines = answer.get("lines", [])
    refused = [line for line in lines if line["action"] == "refused"]
    return Verdict(
        package=str(file.package),
        path=file.path,
        outcome=_outcome(code, len(lines), len(refused)),
        seconds=round(seconds, 2),
        breach=_breach(file, code, answer, seconds),
        details={
            "jobs": len(lines) - len(refused),
            "refused": len(refused),
            "notes": sum(len(line["notes"]) for line in lines),
        },
    )


def jobs_in(content: bytes) -> set[int]:
    """Return the numbers of the lines that are neither comments nor variables nor blank."""
    text = content.decode("utf-8", "surrogateescape")
    numbered = enumerate(text.split("\n"), start=1)
    return {
        number
        for number, line in numbered
        if line.strip() and not line.strip().startswith("#") and not _VARIABLE.match(line)
    }


def _folder(place: PurePosixPath) -> str:
    if place.parent.name == "etc":
        return "etc"
    return "cron.d" if "cron.d" in place.as_posix() else "personal"


def _import(path: Path, product: Installation) -> tuple[int, dict[str, Any]]:
    words = ["tasks", "import", str(path), "--url", _URL, "--json"]
    try:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=CHECKOUT,
            env=product.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, {}
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    return done.returncode, answer


def _outcome(code: int, lines: int, refused: int) -> str:
    if code not in (_DONE, _NOTHING, _PART):
        return f"exit code {code}"
    if not lines:
        return "no job"
    return "imported" if not refused else "all named" if refused == lines else "some named"


def _breach(file: File, code: int, answer: dict[str, Any], seconds: float) -> str:
    """Return which promise the answer breaks, or nothing."""
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if "lines" not in answer or code not in (_DONE, _NOTHING, _PART):
        return f"exit code {code}: {str(answer.get('error', ''))[-200:]}"
    lines = answer["lines"]
    if any(line["action"] == "refused" and not line["reason"] for line in lines):
        return "a line was refused without a reason"
    silent = jobs_in(file.content) - {line["line"] for line in lines}
    return f"lines {sorted(silent)} are neither imported nor named" if silent else ""
