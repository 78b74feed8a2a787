"""A setting that is a JSON list of objects, and its errors, which quote nothing of it."""

from __future__ import annotations

import pytest

from shared.listed_settings import read_list, refuse_unknown


class BadError(Exception):
    """The error of the setting."""


def test_a_blank_text_has_no_entries():
    assert read_list(" \n", "provider", BadError) == []


def test_entries_are_returned_as_they_are():
    assert read_list('[{"name": "a"}, 1]', "provider", BadError) == [{"name": "a"}, 1]


@pytest.mark.parametrize("text", ["s3cret", '[{"a": "s3cret", "a": 1}]', "[" * 100_000])
def test_what_is_no_json_is_refused_without_its_text(text: str):
    with pytest.raises(BadError, match="not JSON, or names a field twice") as caught:
        read_list(text, "provider", BadError)

    assert "s3cret" not in str(caught.value)


def test_another_value_than_a_list_is_refused_with_the_word_for_an_entry():
    with pytest.raises(BadError, match="one for each provider"):
        read_list("{}", "provider", BadError)


def test_an_unknown_field_is_named_with_its_place():
    refuse_unknown({"a": 1}, frozenset("a"), "entry 0", BadError)

    with pytest.raises(BadError, match="entry 0 has the unknown field 'b'"):
        refuse_unknown({"a": 1, "b": 2}, frozenset("a"), "entry 0", BadError)
