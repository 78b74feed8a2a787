from __future__ import annotations

import pytest

from insight.filter_language.fields import (
    DEAD_LETTERS,
    EXECUTIONS,
    TASKS,
    Vocabulary,
)
from insight.filter_language.terms import parse
from insight.filter_language.tokens import FilterError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  STATUS:Failed,RETRYING   a ", "status:failed,retrying a"),
        ('task:"nightly*"', "task:nightly*"),
        ('task:"a b","c,d"', 'task:"a b","c,d"'),
        ('-label:team:"x y"', '-label:"team:x y"'),
        ('"-minus" "key:value" -text', '"-minus" "key:value" -text'),
        ("duration:>30s scheduled:-2h..", "duration:>30s scheduled:-2h.."),
    ],
)
def test_a_filter_renders_to_one_text_that_reads_as_the_same_filter(text: str, canonical: str):
    found = parse(text, EXECUTIONS)

    assert found.text == canonical
    assert parse(canonical, EXECUTIONS) == found


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("status:faild", 8, r"Did you mean failed\?"),
        ("a lable:x", 3, r"Did you mean label:\? To find that text, write \"lable:x\""),
        ("zzz:1", 1, "Fields: status, task"),
        ("attempt:>x", 9, "attempt: 'x' is no whole number"),
        ("duration:30", 10, "duration: '30' has no unit"),
        ("http:5xx,abc", 10, "http: 'abc' is no HTTP status"),
        ("label:*", 7, r"takes no \*"),
        ("host:a..b", 6, "is no host"),
    ],
)
def test_an_unknown_word_is_refused_with_its_place_and_a_suggestion(
    text: str, position: int, words: str
):
    with pytest.raises(FilterError, match=words) as caught:
        parse(text, EXECUTIONS)

    assert caught.value.position == position
    assert str(caught.value).startswith(f"At character {position}: ")


HOSTILE = (
    "\0",
    '"',
    '""',
    "'; DROP TABLE tasks; --",
    "status:",
    ":",
    "::",
    "-",
    "--",
    "-:",
    "a" * 10_000,
    "(" * 500,
    "task:" + "*" * 1900,
    'task:"' + "\\" * 99,
    "scheduled:..",
    "scheduled:>..<",
    "attempt:>>>3",
    "http:>=",
    "duration:99999999999999999999s",
    "%",
    "\ud800",
    "\u202e:x",
    "label:,",
    "delay:1.2.3s",
    "scheduled:0000-00-00",
    "status:failed,,failed",
    "host:[::",
    "é:ü",
    "\\",
)


def refusal(text: str, vocabulary: Vocabulary) -> FilterError | None:
    """Return the error of a text, None where it is read and renders to a text of the same terms."""
    try:
        found = parse(text, vocabulary)
    except FilterError as error:
        return error
    assert parse(found.text, vocabulary) == found
    return None


@pytest.mark.parametrize("vocabulary", [EXECUTIONS, TASKS, DEAD_LETTERS], ids=lambda one: one.name)
def test_hostile_texts_are_read_or_refused(vocabulary: Vocabulary):
    refusals = [(text, refusal(text, vocabulary)) for text in HOSTILE]

    assert all(error is None or 1 <= error.position <= len(text) + 1 for text, error in refusals)
    assert sum(error is not None for _, error in refusals) > len(HOSTILE) / 2


def test_terms_are_taken_out_and_added():
    found = parse("status:failed -status:queued a b", EXECUTIONS)

    assert found.values_of("status") == ["failed"]
    assert found.without("status").text == "a b"
    assert found.without_term(2).text == "status:failed -status:queued b"
    assert found.and_text("http:5xx").text == "status:failed -status:queued a b http:5xx"
    assert found.and_free_text("x:y").text.endswith('"x:y"')
    rest, text = found.taking_text()
    assert (rest.text, text) == ("status:failed -status:queued b", "a")
    assert rest.without("status").taking_text()[1] == "b"
    assert parse("-a", EXECUTIONS).taking_text()[1] is None
