from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import __main__ as bench
from bench.installation import InstallationError


class Reports:
    """Stands in for the reports' processes: each stores a result and ends with its code."""

    def __init__(self) -> None:
        self.run: list[list[str]] = []
        self.codes: dict[str, int] = {}

    def __call__(self, argv: list[str], **_: object) -> Any:
        self.run.append(argv[2:-2])
        results = Path(argv[-1])
        results.mkdir(parents=True)
        result = {"report": "limits-cost", "ratio": 1.1}
        (results / "one.json").write_text(json.dumps(result), encoding="utf-8")
        return SimpleNamespace(returncode=self.codes.get(results.name, 0))


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Reports:
    found = Reports()
    monkeypatch.setattr(bench, "subprocess", SimpleNamespace(run=found))
    return found


def summary(results: Path) -> Any:
    [path] = results.glob("*-summary.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_report_runs_once_and_its_ratios_are_summed_up(reports: Reports, tmp_path: Path):
    code = bench.main(["--results", str(tmp_path)])

    assert code == 0
    assert reports.run == [list(bench.REPORTS[name]) for name in bench.REPORTS]
    assert summary(tmp_path)["passed"] is True
    assert summary(tmp_path)["reports"]["idle"] == {"code": 0, "ratios": {"ratio": 1.1}}


@pytest.mark.parametrize(("ended", "code"), [(1, 1), (2, 2)])
def test_what_was_missed_or_could_not_run_is_told(
    reports: Reports,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ended: int,
    code: int,
):
    reports.codes = {"idle": ended}

    assert bench.main(["--results", str(tmp_path), "--only", "idle", "costs"]) == code

    assert {1: "MISSED", 2: "COULD NOT RUN"}[ended] in capsys.readouterr().out
    assert summary(tmp_path)["passed"] is False
    assert list(summary(tmp_path)["reports"]) == ["idle", "costs"]


def stored(path: Path, **ratios: float) -> str:
    found = {"reports": {"burst": {"code": 0, "ratios": ratios}}}
    path.write_text(json.dumps(found), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("second", "code"), [(1.14, 0), (1.16, 1), (0.88, 0), (0.86, 1)])
def test_two_runs_agree_within_fifteen_percent_on_every_ratio(
    tmp_path: Path, second: float, code: int
):
    first = stored(tmp_path / "first.json", same=2.0, rate=1.0)

    assert (
        bench.main(["--compare", first, stored(tmp_path / "b.json", same=2.0, rate=second)]) == code
    )


def test_runs_that_have_nothing_in_common_are_not_compared(tmp_path: Path):
    first, second = stored(tmp_path / "a.json", one=1.0), stored(tmp_path / "b.json", two=1.0)

    with pytest.raises(InstallationError, match="no ratio in common"):
        bench.main(["--compare", first, second])


def test_the_reports_are_listed_with_their_commands(capsys: pytest.CaptureFixture[str]):
    assert bench.main(["--list"]) == 0

    assert "python -m bench.cron_herd --start" in capsys.readouterr().out
