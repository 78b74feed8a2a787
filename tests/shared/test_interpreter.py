from __future__ import annotations

import sys

import pytest

from shared.interpreter import take_short_turns


def test_no_thread_keeps_the_interpreter_for_milliseconds():
    before = sys.getswitchinterval()
    try:
        take_short_turns()

        assert sys.getswitchinterval() == pytest.approx(0.0005)
    finally:
        sys.setswitchinterval(before)
