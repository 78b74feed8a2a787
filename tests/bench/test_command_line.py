from __future__ import annotations

import pytest

from bench import command_line
from bench.installation import InstallationError
from operations.proof.client import ApiError


@pytest.mark.parametrize(
    "error",
    [
        InstallationError("not ready"),
        ConnectionRefusedError("not ready"),
        ExceptionGroup("creations", [ApiError("not ready")]),
    ],
)
def test_a_report_that_cannot_run_ends_with_two_and_the_reason(
    error: Exception, capsys: pytest.CaptureFixture[str]
):
    def main(_: list[str]) -> int:
        raise error

    with pytest.raises(SystemExit) as caught:
        command_line.run(main)

    assert caught.value.code == 2
    assert "not ready" in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 1])
def test_a_reports_own_code_is_kept(code: int):
    with pytest.raises(SystemExit) as caught:
        command_line.run(lambda _: code)

    assert caught.value.code == code
