from __future__ import annotations

import pytest

from tasks.importers.shell_words import ShellWordsError
from tasks.importers.windows_words import is_for_windows, split_windows_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('curl "a b" ^\n -X ^\r\n PUT', ["curl", "a b", "-X", "PUT"]),
        ('a ^"b^&c^" ^  \nd', ["a", "b&c", "d"]),
        (r'a "b\"c\\" d', ["a", 'b"c\\', "d"]),
        ('a "b""c"', ["a", 'b"c']),
        (r'a c:\x\y "d\e"', ["a", "c:\\x\\y", "d\\e"]),
        ('a ^"b^\n\nc^"', ["a", "b\nc"]),
        ('a "x^y" z^^', ["a", "x^y", "z^"]),
        ('a ""', ["a", ""]),
    ],
)
def test_words_are_those_of_the_command_prompt(text, words):
    assert split_windows_words(text).words == words


@pytest.mark.parametrize("text", ["a & b", "a | b", "a > b", 'a "b'])
def test_what_only_the_prompt_could_do_is_refused(text):
    with pytest.raises(ShellWordsError):
        split_windows_words(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("curl a ^\n b", True),
        ('curl ^"a^"', True),
        ("curl a \\\n b", False),
        ("curl 'a^' -d '{\"re\":\"^\"}'", False),
    ],
)
def test_carets_tell_the_command_prompt(text, answer):
    assert is_for_windows(text) is answer
