"""Splits a filter into terms as they are written, each word with its position.

A term is ``key:value``, with several values ``key:one,two``, or free text. ``-`` in front negates
it. A part in quotes may hold spaces, commas and colons; in it ``\\"`` is a quote and ``\\\\`` a
backslash. Whitespace separates terms.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Characters of a filter, and terms and values in it.
MAX_LENGTH = 2000
MAX_TERMS = 50
MAX_VALUES = 100

_KEY = re.compile(r"([A-Za-z_]+):")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN_TEXT = re.compile(r"[^\s\"]+")
_PLAIN_VALUE = re.compile(r"[^\s\",]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class FilterError(ValueError):
    """A filter that cannot be read; ``position`` counts its characters from 1."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"At character {position}: {message}")
        self.position = position


@dataclass(frozen=True, slots=True)
class Word:
    """A value as written, without its quotes; ``position`` counts from 1."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Token:
    """A term as written; without a key its one word is free text."""

    key: Word | None
    words: tuple[Word, ...]
    negated: bool


def split(text: str) -> list[Token]:
    """Return the terms of a filter in order; raise FilterError."""
    if len(text) > MAX_LENGTH:
        raise FilterError(f"A filter has at most {MAX_LENGTH} characters.", MAX_LENGTH + 1)
    for place, letter in enumerate(text, 1):
        if not letter.isspace() and unicodedata.category(letter) in ("Cc", "Cs"):
            raise FilterError("A filter has no control characters.", place)
    tokens: list[Token] = []
    place = _after_space(text, 0)
    while place < len(text):
        start = place
        token, place = _token(text, start)
        tokens.append(token)
        if len(tokens) > MAX_TERMS or sum(len(one.words) for one in tokens) > MAX_VALUES:
            message = f"A filter has at most {MAX_TERMS} terms and {MAX_VALUES} values."
            raise FilterError(message, start + 1)
        place = _after_space(text, place)
    return tokens


def quoted(text: str, *, is_text: bool = False) -> str:
    """Return a value as it is written in a filter: in quotes where it needs them."""
    plain = _PLAIN_TEXT if is_text else _PLAIN_VALUE
    bare = plain.fullmatch(text) is not None
    if is_text and (text.startswith("-") or _KEY.match(text)):
        bare = False
    return text if bare else '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))


def _token(text: str, start: int) -> tuple[Token, int]:
    negated = text[start] == "-" and start + 1 < len(text) and not text[start + 1].isspace()
    place = start + negated
    found = _KEY.match(text, place)
    if found is None:
        word, end = _word(text, place, _PLAIN_TEXT)
        return Token(None, (word,), negated), end
    key = Word(found[1], place + 1)
    words = []
    place = found.end()
    while True:
        word, place = _word(text, place, _PLAIN_VALUE)
        words.append(word)
        if place == len(text) or text[place] != ",":
            return Token(key, tuple(words), negated), place
        place += 1


def _word(text: str, start: int, plain: re.Pattern[str]) -> tuple[Word, int]:
    """Return the word that begins here, of plain and quoted parts, and where it ends."""
    parts: list[str] = []
    place = start
    while place < len(text):
        if text[place] == '"':
            found = _QUOTED.match(text, place)
            if found is None:
                raise FilterError("This quote is not closed.", place + 1)
            parts.append(_ESCAPED.sub(r"\1", found[1]))
        else:
            found = plain.match(text, place)
            if found is None:
                break
            parts.append(found[0])
        place = found.end()
    word = "".join(parts)
    if not word.strip():
        raise FilterError("A value is missing here.", start + 1)
    return Word(word, start + 1), place


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place
