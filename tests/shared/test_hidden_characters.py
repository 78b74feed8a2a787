from __future__ import annotations

import pytest

from shared.hidden_characters import hidden_problem


@pytest.mark.parametrize(
    "letter",
    [
        *("\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u061c", "\u00ad", "\u2060", "\ufeff"),
        *("\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\u2069", "\u3164"),
        *("\u180e", "\ufff9", "\U000e0041", "\U000e0100", "\U0001d173"),
    ],
)
def test_a_character_that_hides_is_refused_and_named(letter):
    code, sentence = hidden_problem(f"pay{letter}roll") or ("", "")

    assert code == "invalid_characters"
    assert f"U+{ord(letter):04X}" in sentence
    assert letter not in sentence


@pytest.mark.parametrize(
    "name", ["payroll", "Zahlläufe für Müller", "مرتبات", "שכר", "給与 💶", "a\u00a0b", "⚙️ nightly"]
)
def test_names_of_all_scripts_are_fine(name):
    assert hidden_problem(name) is None


def test_a_stored_name_keeps_what_it_has_and_gets_nothing_else():
    stored = "pay\u200broll"

    assert hidden_problem(f"{stored} (copy)", stored) is None
    assert hidden_problem("pay\u202eroll", stored) is not None
