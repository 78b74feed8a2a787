"""Splits a pasted command into words as a POSIX shell would, without running a shell.

Callers: the importers of pasted commands. Nothing is run or expanded: text that only a shell could
interpret, like a variable or a pipe, is refused with a sentence that gives the alternative.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_ESCAPES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_BYTE = r"\\(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3})"
_CODE = r"\\(?:u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})"
_CODED_RUN = re.compile(f"(?:{_BYTE}|{_CODE})+")
_CODES = re.compile(f"((?:{_BYTE})+)|\\\\([uU][0-9A-Fa-f]+)")
_EXPANSION = re.compile(r"\$[A-Za-z_0-9{(@*#?$!-]")
_REDIRECTION = re.compile(r"(?:\d*|&)(?:>>|>\||>&|>|<)")
_BLANKS_BEFORE_LINE_END = re.compile(r"[ \t]+\r?\n")
_CONTINUED_IN_POWERSHELL = re.compile(r"`[ \t]*\r?\n")
_CONTINUED = (
    "A blank stands behind a backslash at the end of a line; the line below is taken as part of "
    "the command, where a shell would end it."
)
#: Copied from a page or a document; a shell takes it as a letter.
_FIXED_BLANKS = "\u00a0\u2007\u202f"
_FIXED_BLANK = "Blanks that do not break, from a page or a document, are read as plain ones."
_OPERATORS = {
    ";": "Paste one command only; ';' begins another.",
    "|": "Paste one command only; '|' hands its output to another.",
    "&": "A bare '&' ends the command for a shell; put the URL in quotes.",
    "(": "Brackets have a meaning for a shell; put the word in quotes.",
    ")": "Brackets have a meaning for a shell; put the word in quotes.",
}


class ShellWordsError(ValueError):
    """The text is not one plain command; the message is a sentence for the person."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a command, and the redirections that were taken off it."""

    words: list[str]
    redirections: list[str]
    #: Differences from the way in which a shell would read it, in sentences.
    notes: tuple[str, ...] = ()


def split_words(text: str) -> Words:
    """Return the words of one command; raise ShellWordsError where a shell would do more."""
    return _Splitter(text).split()


@dataclass(slots=True)
class _Splitter:
    text: str
    at: int = 0
    #: The word that is being read; None between words, "" after an empty pair of quotes.
    word: str | None = None
    words: list[str] = field(default_factory=list)
    redirections: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def split(self) -> Words:
        readers: dict[str, Callable[[], None]] = {
            "'": self._single,
            '"': self._double,
            "\\": self._backslash,
            "$": self._dollar,
            "`": self._backquote,
            ">": self._redirection,
            "<": self._redirection,
        }
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\r\n" or letter in _FIXED_BLANKS:
                self._end_word()
                self.at += 1
                if letter in _FIXED_BLANKS:
                    self.notes.append(_FIXED_BLANK)
            elif self.word is None and letter == "#":
                self.at = self._line_end()
            elif self.word is None and _REDIRECTION.match(self.text, self.at):
                self._redirection()
            elif letter in _OPERATORS:
                raise ShellWordsError(_OPERATORS[letter])
            elif letter in readers:
                readers[letter]()
            else:
                self._take(letter, 1)
        self._end_word()
        return Words(self.words, self.redirections, tuple(dict.fromkeys(self.notes)))

    def _take(self, text: str, length: int) -> None:
        self.word = (self.word or "") + text
        self.at += length

    def _end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
            self.word = None

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _closing(self, quote: str) -> int:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise ShellWordsError(f"A quote {quote} is not closed.")
        return end

    def _single(self) -> None:
        end = self._closing("'")
        self._take(self.text[self.at + 1 : end], end + 1 - self.at)

    def _double(self) -> None:
        found = []
        place = self.at + 1
        while place < len(self.text) and self.text[place] != '"':
            letter = self.text[place]
            if letter == "\\" and self.text[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
                place += 1
                letter = self.text[place].replace("\n", "")
            elif letter == "`" or _EXPANSION.match(self.text, place):
                raise _unexpanded(self.text, place)
            found.append(letter)
            place += 1
        if place >= len(self.text):
            raise ShellWordsError('A quote " is not closed.')
        self._take("".join(found), place + 1 - self.at)

    def _backslash(self) -> None:
        following = self.text[self.at + 1 : self.at + 3]
        slip = _BLANKS_BEFORE_LINE_END.match(self.text, self.at + 1)
        if slip:
            self._end_word()
            self.at = slip.end()
            self.notes.append(_CONTINUED)
        elif following.startswith(("\n", "\r\n")):
            self.at += 2 if following[0] == "\n" else 3
        elif not following:
            self.at += 1
        else:
            self._take(following[0], 2)

    def _dollar(self) -> None:
        if self.text.startswith("$'", self.at):
            self._ansi_quoted()
        elif _EXPANSION.match(self.text, self.at):
            raise _unexpanded(self.text, self.at)
        elif self.text.startswith('$"', self.at):
            self.at += 1
        else:
            self._take("$", 1)

    def _ansi_quoted(self) -> None:
        """Read ``$'...'``, which browsers use for text that plain quotes cannot hold."""
        found = []
        place = self.at + 2
        while place < len(self.text) and self.text[place] != "'":
            letter, length = self.text[place], 1
            coded = _CODED_RUN.match(self.text, place)
            if coded:
                letter, length = _decoded(coded[0]), len(coded[0])
            elif letter == "\\":
                letter, length = _escape(self.text, place + 1)
            found.append(letter)
            place += length
        if place >= len(self.text):
            raise ShellWordsError("A quote $' is not closed.")
        self._take("".join(found), place + 1 - self.at)

    def _backquote(self) -> None:
        continued = _CONTINUED_IN_POWERSHELL.match(self.text, self.at)
        if continued and self.word is None:
            self.at = continued.end()
            return
        raise _unexpanded(self.text, self.at)

    def _redirection(self) -> None:
        sign = _REDIRECTION.match(self.text, self.at)
        if sign is None or self.text.startswith("<", sign.end() - 1):
            raise ShellWordsError("Files are not read; write the data into the command.")
        self._end_word()
        rest = re.compile(r"[ \t]*[^\s;|&<>()]*").match(self.text, sign.end())
        end = rest.end() if rest else sign.end()
        self.redirections.append(self.text[self.at : end].strip())
        self.at = end


def _escape(text: str, place: int) -> tuple[str, int]:
    """Return the letter of an escape and how many letters it took with its backslash."""
    letter = text[place : place + 1]
    return _ESCAPES.get(letter, f"\\{letter}"), 1 + len(letter)


def _decoded(run: str) -> str:
    """Return the text of escapes that name characters by number.

    ``\\xHH`` and ``\\NNN`` are bytes of UTF-8, or characters where they are no UTF-8, as some
    browsers mean them. Halves of a pair in ``\\uHHHH`` make one character.
    """
    found = ""
    for bytes_run, code in _CODES.findall(run):
        if code:
            found += _character(int(code[1:], 16), f"\\{code}")
            continue
        raw = bytes(
            int(one[1:], 16) if one[0] == "x" else int(one, 8) & 255
            for one in bytes_run.split("\\")[1:]
        )
        try:
            found += raw.decode()
        except UnicodeDecodeError:
            found += raw.decode("latin-1")
    try:
        return found.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        message = "There is no character of which a \\u names only one half."
        raise ShellWordsError(message) from error


def _character(code: int, written: str) -> str:
    if code > 0x10FFFF:
        raise ShellWordsError(f"There is no character {written}.")
    return chr(code)


def _unexpanded(text: str, place: int) -> ShellWordsError:
    shown = re.split(r"[\s\"']", text[place : place + 30], maxsplit=1)[0]
    return ShellWordsError(
        f"{shown!r} is something that a shell fills in; write the value itself, or put it in "
        "single quotes where it is meant as it stands."
    )
