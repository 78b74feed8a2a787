from __future__ import annotations

from pathlib import Path

import pytest

from operations.bulk.options import job_options, read_payload, read_rate
from shared.exceptions import InvalidInput, NotFound

NOTHING = {"rate": None, "canary": None, "stop_on_failure_rate": None}


@pytest.mark.parametrize(
    ("text", "rate"), [("10/s", 10.0), ("600/m", 10.0), ("1800/h", 0.5), ("0.5/s", 0.5)]
)
def test_a_rate_is_read_per_second(text: str, rate: float):
    assert read_rate(text) == rate


@pytest.mark.parametrize("text", ["10", "0/s", "-1/s", "10/d", "ten/s", ""])
def test_a_rate_that_is_none_is_refused(text: str):
    with pytest.raises(InvalidInput):
        read_rate(text)


def test_null_is_a_payload_and_nothing_is_none(tmp_path: Path):
    file = tmp_path / "payload.json"
    file.write_text('{"n": 2}')

    assert read_payload('{"n": 1}') == ({"n": 1},)
    assert read_payload(f"@{file}") == ({"n": 2},)
    assert read_payload("null") == (None,)
    assert read_payload(None) is None


def test_a_payload_that_cannot_be_read_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput):
        read_payload("{")
    with pytest.raises(NotFound):
        read_payload(f"@{tmp_path / 'nowhere'}")


def test_only_what_was_given_becomes_an_option_of_the_job():
    assert job_options(NOTHING) == {}
    assert job_options({**NOTHING, "canary": 0, "note": "", "resolution": "fixed"}) == {
        "canary": 0,
        "resolution": "fixed",
    }
    assert job_options({**NOTHING, "payload": "null"}) == {"payload": None}
