from __future__ import annotations

from pathlib import Path

import pytest

from bench import reseal
from bench.installation import InstallationError
from bench.reseal import Beside, options, publish


@pytest.mark.parametrize(
    ("closed", "failures", "code"), [(0, [], 0), (1, [], 1), (0, ["refused"], 1)]
)
def test_a_value_that_does_not_open_or_a_failed_call_is_a_broken_promise(
    closed: int, failures: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    chosen = options(["--rows", "30", "--results", str(tmp_path)])
    beside = Beside("http://127.0.0.1:1", "key", [12.0], failures)

    assert publish(chosen, [10, 20], 3.0, beside, closed) == code
    assert "killed at 10, 20 values" in capsys.readouterr().out


def test_a_report_needs_an_installation_of_its_own():
    with pytest.raises(InstallationError):
        reseal.main(["--rows", "30"])
