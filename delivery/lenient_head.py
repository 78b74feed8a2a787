"""Reads the head of an answer that llhttp refuses, where RFC 9110 and 9112 let a client read it.

Lenient with lines: folded ones, blanks before a colon, LF without CR, a later HTTP/1 version, equal
lengths given twice. Strict with what frames the body: one length or chunks, never both. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from delivery.errors import DeliveryError

#: Status line and headers, those of informational answers included.
MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 256
#: Framing of a body whose length the head does not give.
CHUNKED, UNTIL_CLOSE = -1, -2

#: More digits than any body has that is read.
_MAX_LENGTH_DIGITS = 18
_BLANKS = b" \t"
#: Without the controls, which no line may hold; a tab is a blank.
_TEXT = rb"[^\x00-\x08\x0a-\x1f\x7f]*"
_LINE = re.compile(_TEXT)
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9][ \t]+([0-9]{3})(?:[ \t]" + _TEXT + rb")?")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Head:
    """The head of one answer, final or informational."""

    status: int
    #: In order.
    headers: list[tuple[bytes, bytes]]
    #: Bytes of the body, or CHUNKED, or UNTIL_CLOSE.
    framing: int


def invalid(message: str) -> DeliveryError:
    """Return the error of an answer that cannot be read."""
    return DeliveryError("response_invalid", message)


def status_problem(status: int) -> str:
    """Return why an answer may not have the status, '' when it may.

    One of 600 to 999 is an error of the server (RFC 9110, 15); a switch of protocols was not asked.
    """
    return "" if 100 <= status <= 999 and status != 101 else f"The answer has the status {status}."


def end_of_head(data: bytes, start: int = 0) -> int:
    """Return the place behind the first empty line after ``start``, -1 where there is none."""
    found = data.find(b"\n\r\n", start)
    bare = data.find(b"\n\n", start, found if found >= 0 else len(data))
    if bare >= 0:
        return bare + 2
    return found + 3 if found >= 0 else -1


def read_head(data: bytes) -> Head:
    """Read a head with its empty line; DeliveryError ``response_invalid``."""
    first, *lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    found = _STATUS_LINE.fullmatch(first)
    if found is None:
        raise invalid("The answer is not HTTP/1.1: it begins with no status line.")
    status = int(found[1])
    if problem := status_problem(status):
        raise invalid(problem)
    headers = _fields(lines)
    return Head(status, headers, _framing(headers))


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        if not _LINE.fullmatch(line):
            raise invalid("The answer is not HTTP/1.1: a header holds a control character.")
        if line[:1] in (b" ", b"\t"):
            _unfold(headers, line)
        elif line:
            headers.append(_field(line))
        if len(headers) > MAX_HEADERS:
            raise invalid("The answer has too many headers.")
    return headers


def _unfold(headers: list[tuple[bytes, bytes]], line: bytes) -> None:
    """Append a folded line to the last value, with one blank for the fold (RFC 9112, 5.2)."""
    if not headers:
        raise invalid("The answer is not HTTP/1.1: a folded line follows its status line.")
    name, value = headers[-1]
    headers[-1] = (name, b" ".join((value, line.strip(_BLANKS))).strip(_BLANKS))


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    name = name.rstrip(_BLANKS)
    if not colon or not _NAME.fullmatch(name):
        raise invalid("The answer is not HTTP/1.1: a line of its head is no header.")
    return name, value.strip(_BLANKS)


def _framing(headers: list[tuple[bytes, bytes]]) -> int:
    """Return the framing of the body that the headers announce (RFC 9112, 6.3)."""
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    codings = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    if lengths and codings:
        raise invalid("The answer has both a length and a transfer coding.")
    if codings:
        last = codings[-1].rpartition(b",")[2].strip(_BLANKS)
        return CHUNKED if last.lower() == b"chunked" else UNTIL_CLOSE
    return _length(lengths) if lengths else UNTIL_CLOSE


def _length(values: list[bytes]) -> int:
    words = {word.strip(_BLANKS) for value in values for word in value.split(b",")}
    if len(words) > 1:
        raise invalid("The answer has two lengths that differ.")
    word = words.pop()
    if not word.isdigit() or len(word) > _MAX_LENGTH_DIGITS:
        raise invalid("The answer has a length that is no number of bytes.")
    return int(word)
