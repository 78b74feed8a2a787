from __future__ import annotations

import contextlib
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.importers.shell_words import ShellWordsError, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  a\tb \n c ", ["a", "b", "c"]),
        ("'a b' \"c d\" e' 'f", ["a b", "c d", "e f"]),
        ("'' \"\"", ["", ""]),
        (r"a\ b \$c \\", ["a b", "$c", "\\"]),
        (r'"a\"b\$c\d"', [r'a"b$c\d']),
        ("a \\\n b", ["a", "b"]),
        ("a \\\r\n b", ["a", "b"]),
        ('"a\\\nb"', ["ab"]),
        ("a # the rest", ["a"]),
        ("a#b", ["a#b"]),
        ("'$HOME `x` ; | &'", ["$HOME `x` ; | &"]),
        ("a$ 5$", ["a$", "5$"]),
        ("http://[::1]/?x=*", ["http://[::1]/?x=*"]),
        ('$"a b"', ["a b"]),
        ("a\\", ["a"]),
        ("a \\ \t\n b", ["a", "b"]),
        ("a\\  \r\nb", ["a", "b"]),
        ("a `\n b", ["a", "b"]),
    ],
)
def test_words_are_those_of_a_shell(text: str, words: list[str]):
    assert split_words(text).words == words


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r"$'it\'s'", "it's"),
        (r"$'\u00e9\x41\101\U0001F600'", "éAA\U0001f600"),
        (r"$'a\nb\tc\\'", "a\nb\tc\\"),
        (r"$'\q'", r"\q"),
        (r"x$'a b'y", "xa by"),
        (r"$'\xc3\xa9\xe9'", "Ã©é"),
        (r"$'\xc3\xa9'", "é"),
        (r"$'\303\251'", "é"),
        (r"$'\ud83d\ude00!'", "😀!"),
    ],
)
def test_quotes_with_a_dollar_are_read(text: str, word: str):
    assert split_words(text).words == [word]


@pytest.mark.parametrize(
    ("text", "words", "redirections"),
    [
        ("a > /dev/null 2>&1", ["a"], ["> /dev/null", "2>&1"]),
        ("a >>log b", ["a", "b"], [">>log"]),
        ("a &> /dev/null", ["a"], ["&> /dev/null"]),
        ("a b2>c", ["a", "b2"], [">c"]),
        ("a '>' b", ["a", ">", "b"], []),
    ],
)
def test_redirections_are_taken_off(text: str, words: list[str], redirections: list[str]):
    found = split_words(text)

    assert (found.words, found.redirections) == (words, redirections)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a | b", "hands its output"),
        ("a; b", "begins another"),
        ("http://x/?a=1&b=2", "put the URL in quotes"),
        ("a && b", "put the URL in quotes"),
        ("(a)", "Brackets"),
        ("a $HOME", "'$HOME'"),
        ('a "$(date)"', "'$(date)'"),
        ('a "${X}"', "'${X}'"),
        ("a `date`", "'`date`'"),
        ('a "`date`"', "'`date`'"),
        ("a 'b", "is not closed"),
        ('a "b', "is not closed"),
        ("a $'b", "is not closed"),
        ("a < file", "Files are not read"),
        ("a <<EOF", "Files are not read"),
        (r"$'\ud800'", "There is no character"),
        (r"$'\UFFFFFFFF'", "There is no character"),
    ],
)
def test_what_only_a_shell_could_do_is_refused(text: str, told: str):
    with pytest.raises(ShellWordsError, match=r".") as caught:
        split_words(text)

    assert told in str(caught.value)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=6))
def test_what_was_quoted_for_a_shell_comes_back(words: list[str]):
    assert split_words(shlex.join(words)).words == words


@given(st.text(alphabet="ab \\'\"$`<>|&;()#{}\n\t0x1u", max_size=40))
def test_any_text_is_split_or_refused(text: str):
    with contextlib.suppress(ShellWordsError):
        assert all(isinstance(word, str) for word in split_words(text).words)
