"""Signed links: good for one member and one thing, and only as they were made."""

from __future__ import annotations

import pytest

from notifications.links import MUTE, UNSUBSCRIBE, SignedLink, page, read_token, signed_page
from shared.exceptions import NotFound
from shared.ids import new_id


def token_of(url: str) -> str:
    return url.rpartition("/")[2]


def test_a_link_says_who_and_what() -> None:
    alert = new_id()

    assert read_token(MUTE, token_of(signed_page(MUTE, 7, alert))) == SignedLink(7, alert)
    assert read_token(UNSUBSCRIBE, token_of(signed_page(UNSUBSCRIBE, 7))) == SignedLink(7, None)


@pytest.mark.parametrize("change", ["x", "", "7"])
def test_a_made_up_or_changed_link_is_refused(change: str) -> None:
    token = token_of(signed_page(UNSUBSCRIBE, 7))

    with pytest.raises(NotFound):
        read_token(UNSUBSCRIBE, change + token[1:] if change else "made-up")


def test_a_link_to_unsubscribe_does_not_mute() -> None:
    with pytest.raises(NotFound):
        read_token(MUTE, token_of(signed_page(UNSUBSCRIBE, 7)))


def test_an_old_link_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from notifications import links

    token = token_of(signed_page(UNSUBSCRIBE, 7))
    monkeypatch.setattr(links, "_MAX_AGE_SECONDS", -1)

    with pytest.raises(NotFound):
        read_token(UNSUBSCRIBE, token)


def test_pages_are_below_the_public_address() -> None:
    assert page("/alerts").endswith("/alerts")
