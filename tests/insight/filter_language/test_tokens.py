from __future__ import annotations

import pytest

from insight.filter_language.tokens import FilterError, quoted, split


def written(text: str) -> list[tuple[str | None, list[str], bool]]:
    return [
        (token.key.text if token.key else None, [word.text for word in token.words], token.negated)
        for token in split(text)
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  \n\t ", []),
        ("status:failed,retrying", [("status", ["failed", "retrying"], False)]),
        ("-label:team:billing", [("label", ["team:billing"], True)]),
        ('task:"night ly*",b', [("task", ["night ly*", "b"], False)]),
        (r'"a \"b\" \\ c:d"', [(None, [r'a "b" \ c:d'], False)]),
        ("a,b -c", [(None, ["a,b"], False), (None, ["c"], True)]),
        ("- 12:30", [(None, ["-"], False), (None, ["12:30"], False)]),
        ('label:team:"a b"', [("label", ["team:a b"], False)]),
        ("scheduled:2026-11-20T08:00:00Z..", [("scheduled", ["2026-11-20T08:00:00Z.."], False)]),
    ],
)
def test_a_text_is_split_into_terms(text: str, tokens: list):
    assert written(text) == tokens


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ('a "b', 3, "not closed"),
        ("status:", 8, "missing"),
        ("status:a,", 10, "missing"),
        ('a ""', 3, "missing"),
        ("ab\0", 3, "control"),
        ("\ud800", 1, "control"),
        ("x" * 2001, 2001, "2000"),
        ("x " * 51, 101, "50 terms"),
        ("a:" + ",".join(["b"] * 101), 1, "100 values"),
    ],
)
def test_what_cannot_be_split_is_refused_with_its_place(text: str, position: int, words: str):
    with pytest.raises(FilterError, match=words) as caught:
        split(text)

    assert caught.value.position == position


@pytest.mark.parametrize("text", ["plain", "a b", 'q"q', "back\\slash", "a,b", "-x", "key:value"])
def test_a_quoted_value_is_read_as_it_was(text: str):
    assert written(f"key:{quoted(text)}") == [("key", [text], False)]
    assert written(quoted(text, is_text=True)) == [(None, [text], False)]
