"""The model of a person's pace: what is counted, and what it adds up to."""

from __future__ import annotations

import pytest

from bench.ten_tasks.pace import Tally


def test_a_click_is_pointing_and_pressing_without_a_change_of_hands():
    tally = Tally()

    tally.think()
    tally.click()

    assert (tally.clicks, tally.keys, tally.homings) == (1, 0, 0)
    assert tally.seconds == pytest.approx(1.35 + 1.10 + 0.20)


def test_the_hand_moves_once_for_a_word_and_once_back():
    tally = Tally()

    tally.click()
    tally.press(5)
    tally.press()
    tally.click()

    assert (tally.clicks, tally.keys, tally.homings) == (2, 6, 2)
    assert tally.seconds == pytest.approx(2 * 1.30 + 6 * 0.28 + 2 * 0.40)


def test_what_the_console_takes_is_not_the_persons_time():
    tally = Tally()

    tally.waited_seconds += 7.0

    assert tally.seconds == 0
