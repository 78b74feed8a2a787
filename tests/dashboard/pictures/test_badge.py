from __future__ import annotations

import pytest

from dashboard.pictures.badge import icon, state_badge
from dashboard.state_vocabulary import LOOKS
from tests.dashboard.pictures.reading import parsed


@pytest.mark.parametrize("state", sorted(LOOKS))
def test_every_state_has_an_icon_a_word_and_a_colour(state: str):
    (badge,) = parsed(state_badge(state))

    assert badge.get("class") == f"state {LOOKS[state].css}"
    assert "".join(badge.itertext()) == LOOKS[state].label
    assert badge[0].get("aria-hidden") == "true"


def test_a_retrying_state_says_which_attempt_of_how_many():
    assert "retrying 2/5" in state_badge("RETRYING", 2, 5)
    assert "2/5" not in state_badge("FAILED", 2, 5)


def test_icons_come_from_the_served_file():
    assert 'href="/static/icons.svg#tick"' in icon("tick")


def test_a_state_that_nobody_knows_is_an_error():
    with pytest.raises(KeyError):
        state_badge("LOST")
