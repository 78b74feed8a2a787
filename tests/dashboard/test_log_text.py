"""A log on a page: bounded, and nothing in it steers the page or the reader's eye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.log_text import SHOWN_BYTES, readable


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\n\tline\n", "plain\n\tline\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "xy"),
        ("10 %\r20 %", "10 %\u240d20 %"),
        ("a\r\nb", "a\nb"),
        ("a\x00b\x7f", "a\u2400b\u2421"),
        ("user\u202etxt.exe\u2066", "user<202E>txt.exe<2066>"),
        ("\x1b", "\u241b"),
        ("é 漢 😀", "é 漢 😀"),
    ],
)
def test_what_steers_a_terminal_or_turns_text_is_taken_out(written: str, shown: str):
    assert readable(written.encode()).text == shown


def test_only_the_end_of_a_long_log_is_shown_from_a_line_on():
    output = b"".join(b"line %06d\n" % number for number in range(5000))

    found = readable(output)

    assert found.text.startswith("line ")
    assert found.text.endswith("line 004999\n")
    assert found.left_out + len(found.text) == len(output)
    assert len(found.text) <= SHOWN_BYTES


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace"))
)
def test_no_bytes_are_a_crash_or_leave_a_control_character(output: bytes):
    text = readable(output).text

    assert not [letter for letter in text if letter < " " and letter not in "\n\t"]
    assert "\u202e" not in text
