"""Every row comes back as it was said; what is no frame or entry is refused, never misread."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.outcomes import decode, encode, joined, split

ROW: Any = {
    "verb": "succeeded",
    "id": "0195c0c0-0000-7000-8000-000000000001",
    "token": 2**62,
    "worker": "wörker@host:1-abcdef",
    "started": 1795631909.789131,
    "timings": {"first_byte": 1.234, "total": 1.456},
}
RECORDED = Path(__file__).parent / "recorded"
BLOBS = st.binary(min_size=1, max_size=40)


@given(st.lists(st.dictionaries(st.sampled_from(["sealed", "result"]), BLOBS), max_size=4))
def test_rows_come_back_in_their_order_as_they_were_said(blobs):
    rows: list[Any] = [{**ROW, "token": number, **found} for number, found in enumerate(blobs)]

    entry = joined([encode(row) for row in rows])

    assert [decode(frame) for frame in split(entry)] == rows


def test_what_is_sealed_travels_as_it_is_and_the_row_stays():
    row: Any = {**ROW, "sealed": b"\x00sealed", "result": b"\xffresult"}

    assert encode(row).endswith(b"\x00sealed\xffresult")
    assert row["sealed"] == b"\x00sealed"


def test_an_empty_blob_is_left_out():
    row: Any = {**ROW, "sealed": b"", "result": b""}

    assert decode(encode(row)) == ROW


@given(st.binary(max_size=60))
def test_whatever_is_read_is_a_row_or_refused(data):
    for read in (split, decode):
        with contextlib.suppress(ValueError):
            read(data)


@given(st.binary(max_size=40))
def test_whatever_stands_in_a_frame_is_a_row_or_refused(words):
    frame = len(words).to_bytes(4, "little") + bytes(8) + words

    try:
        found = orjson.loads(words)
    except ValueError:
        found = None
    if isinstance(found, dict):
        assert decode(frame) == found
    else:
        with pytest.raises(ValueError, match="."):  # noqa: RUF043 - any message
            decode(frame)


def test_a_frame_of_another_length_is_refused():
    row: Any = {**ROW, "sealed": b"sealed", "result": b"result"}
    frame = encode(row)

    for wrong in (*(frame[:length] for length in range(len(frame))), frame + b"x"):
        with pytest.raises(ValueError, match="frame of an outcome"):
            decode(wrong)


@pytest.mark.parametrize("cut", [1, 3, 200])
def test_an_entry_that_is_cut_off_is_refused(cut):
    with pytest.raises(ValueError, match="cut off"):
        split(joined([encode(ROW), encode(ROW)])[:-cut])


def test_an_entry_of_the_version_before_is_read():
    # As the one of messages: a worker of the former version writes to a recorder of this one.
    recorded = bytes.fromhex((RECORDED / "outcomes.hex").read_text(encoding="ascii"))

    assert [decode(frame) for frame in split(recorded)] == [
        {
            "id": "a",
            "token": 7,
            "attempt": 1,
            "worker": "w",
            "started": 1.0,
            "at": 2.0,
            "verb": "succeeded",
            "outcome": "SUCCEEDED",
            "status": 200,
            "timings": {"total": 1.5},
            "sealed": b"answer",
            "result": b"result",
        },
        {"verb": "released", "id": "b", "token": 8},
    ]
