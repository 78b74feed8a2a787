"""Splits a command as it is copied for the Windows command prompt into words.

Browsers offer it as "Copy as cURL (cmd)". The prompt removes a caret and takes the next letter as
it is; the program then splits the rest at blanks outside of quotes. Nothing is run or expanded.
"""

from __future__ import annotations

import re

from tasks.importers.shell_words import ShellWordsError, Words

_CARET_LINE = re.compile(r"(?:^|\s)\^[ \t]*(?:\r?\n|$)|\s\^\"")
_SLASHES = re.compile(r"\\+")
_LINE_END = re.compile(r"[ \t]*\n")
_OPERATORS = re.compile(r"[&|<>]")


def is_for_windows(text: str) -> bool:
    """Return whether carets continue the lines of the command or precede its quotes."""
    return _CARET_LINE.search(text) is not None


def split_windows_words(text: str) -> Words:
    """Return the words of one command; raise ShellWordsError where the prompt would do more."""
    return Words(_words(_without_carets(text)), [])


def _without_carets(text: str) -> str:
    """Return the text that the prompt passes to the program."""
    found: list[str] = []
    quoted = False
    at = 0
    text = text.replace("\r\n", "\n")
    while at < len(text):
        letter = text[at]
        if letter == "^" and not quoted:
            # At the end of a line blanks behind it are a slip of the hand.
            line_end = _LINE_END.match(text, at + 1)
            at = line_end.end() if line_end else at + 1
            if line_end and text[at : at + 1] != "\n":
                found.append(" ")
                continue
            # The letter after a caret is literal, also a line break within data.
            found.append(text[at : at + 1])
            at += 1
            continue
        if letter == '"':
            quoted = not quoted
        elif not quoted and _OPERATORS.match(letter):
            raise ShellWordsError(
                f"Paste one command only; {letter!r} ends it for the command prompt. Put the URL "
                "in quotes."
            )
        found.append(letter)
        at += 1
    return "".join(found)


def _words(line: str) -> list[str]:
    words: list[str] = []
    word: str | None = None
    quoted = False
    at = 0
    while at < len(line):
        found = _SLASHES.match(line, at)
        slashes = found.end() - at if found else 0
        if slashes and line[at + slashes : at + slashes + 1] == '"':
            # Before a quote two backslashes are one, and an odd one makes the quote a letter.
            word = (word or "") + "\\" * (slashes // 2) + ('"' if slashes % 2 else "")
            at += slashes + slashes % 2
        elif slashes:
            word = (word or "") + "\\" * slashes
            at += slashes
        elif line[at] == '"' and quoted and line[at + 1 : at + 2] == '"':
            word = (word or "") + '"'
            at += 2
        elif line[at] == '"':
            quoted, word = not quoted, word or ""
            at += 1
        elif line[at] in " \t\n" and not quoted:
            words += [] if word is None else [word]
            word = None
            at += 1
        else:
            word = (word or "") + line[at]
            at += 1
    if quoted:
        raise ShellWordsError('A quote " is not closed.')
    return words if word is None else [*words, word]
