"""Each rule takes its own words and leaves others where they are."""

from __future__ import annotations

import pytest

from tasks.plain_times.recurrence_rules import RULES, Found
from tasks.plain_times.vocabulary import split
from tasks.schedules.zones import find_zone

UTC = find_zone("UTC")


@pytest.mark.parametrize(
    "text", ["every", "each", "on", "of", "at", "in", "day", "weekly on", "to"]
)
def test_a_rule_that_does_not_fit_takes_no_word(text):
    for rule in RULES:
        words, _ = split(text, UTC)
        found = Found()
        if not rule(words, found):
            assert words.at == 0, rule
            assert found == Found(), rule


def test_no_text_of_one_word_is_taken_by_a_rule_that_notes_nothing():
    words, _ = split("foo", UTC)

    assert not any(rule(words, Found()) for rule in RULES)
