from __future__ import annotations

import pytest

from tasks.budgets.units import is_unit


@pytest.mark.parametrize("name", ["runs", "seconds", "tokens", "eur_2", "a" * 32])
def test_a_unit_is_a_short_word_in_lower_case(name):
    assert is_unit(name)


@pytest.mark.parametrize("name", ["", "Tokens", "2eur", "a b", "a-b", "a" * 33, "größe", "a\n"])
def test_other_words_are_none(name):
    assert not is_unit(name)
