from __future__ import annotations

import pytest

from shared.json_pointer import child


@pytest.mark.parametrize(
    ("key", "pointer"),
    [
        ("name", "#/name"),
        ("a/b", "#/a~1b"),
        ("a~b", "#/a~0b"),
        ("~1", "#/~01"),
        ("\0\n", "#/??"),
        ("\ud800", "#/?"),
        ("x" * 500, "#/" + "x" * 100),
        ("schlüssel", "#/schlüssel"),
    ],
)
def test_pointers_are_escaped_and_bounded(key, pointer):
    assert child("#", key) == pointer
