from __future__ import annotations

import pytest

from shared.payload_sight import (
    HIDDEN,
    PayloadsHidden,
    hide,
    hide_url,
    is_hidden,
    only,
    require,
    sight,
)


def test_payloads_are_shown_unless_a_door_says_otherwise():
    assert not is_hidden()
    assert hide({"a": 1}) == {"a": 1}
    assert hide_url("https://example.com/?a=1") == "https://example.com/?a=1"
    require()


def test_the_right_holds_within_its_block_and_no_longer():
    with sight(False):
        assert is_hidden()
        with sight(True):
            assert not is_hidden()
        assert is_hidden()
    assert not is_hidden()


def test_a_block_that_fails_leaves_nothing_behind():
    with pytest.raises(ValueError, match="x"), sight(False):
        raise ValueError("x")
    assert not is_hidden()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, None), ("", ""), (0, HIDDEN), (False, HIDDEN), ([], HIDDEN), ("text", HIDDEN)],
)
def test_every_value_is_masked_and_nothing_stays_nothing(value, shown):
    with sight(False):
        assert hide(value) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/a", "https://example.com/a"),
        ("https://example.com/a?b=c&d", f"https://example.com/a?{HIDDEN}"),
        ("https://example.com/a#b?c", f"https://example.com/a?{HIDDEN}"),
    ],
)
def test_a_url_loses_its_query_and_its_fragment(url, shown):
    with sight(False):
        assert hide_url(url) == shown


def test_only_named_fields_stay_visible():
    with sight(False):
        assert only({"a": 1, "b": 2, "c": None}, {"a"}) == {"a": 1, "b": HIDDEN, "c": None}


def test_what_cannot_be_masked_is_refused():
    with sight(False), pytest.raises(PayloadsHidden) as refused:
        require()
    assert (refused.value.status, refused.value.code) == (403, "payloads_hidden")
