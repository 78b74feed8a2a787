"""What operators hand to a command: a file, standard input, or JSON on the command line.

Reads are bounded. The error of an unreadable file has its name and an exit code.
"""

from __future__ import annotations

import sys
from getpass import getpass
from pathlib import Path
from typing import Any

from shared import strict_json
from shared.commands import wrong_use
from shared.exceptions import InvalidInput, NotFound
from shared.strict_json import named

_MAX_BYTES = 1024 * 1024
#: Exports of thousands of tasks come back in one file.
MAX_JSON_BYTES = 64 * 1024 * 1024


def read_text(name: str) -> tuple[str, str]:
    """Return the file's path and text; bytes that are not text stay recognisable in it."""
    path, raw = _read(name, "FILE", _MAX_BYTES)
    return path, raw.decode("utf-8", "surrogateescape")


def read_bytes(name: str, limit: int) -> bytes:
    """Return the content of a file of up to ``limit`` bytes."""
    return _read(name, "FILE", limit)[1]


def read_url(path: str | None, limit: int) -> str:
    """Return a URL from the file, the terminal or standard input, without a last line end.

    Not from the command line, which every account of the machine can read.
    """
    if path is None:
        return (getpass("URL: ") if sys.stdin.isatty() else sys.stdin.read(limit + 2)).strip()
    try:
        return read_bytes(path, limit + 2).decode().strip()
    except UnicodeDecodeError as error:
        raise wrong_use("--file", "the URL is no text in UTF-8") from error


def read_json(name: str, option: str, pointer: str = "#") -> Any:
    """Return the JSON that a file or, for ``-``, standard input holds."""
    return parse_json(_read(name, option, MAX_JSON_BYTES)[1], option, pointer)


def json_value(text: str, option: str, pointer: str = "#") -> Any:
    """Return the JSON given as such, as ``@FILE``, or as ``-`` for standard input."""
    if text == "-":
        return read_json("-", option, pointer)
    if text.startswith("@"):
        return read_json(text[1:], option, pointer)
    return parse_json(text.encode("utf-8", "surrogateescape"), option, pointer)


def parse_json(raw: bytes, option: str, pointer: str = "#") -> Any:
    """Return the JSON of these bytes; raise InvalidInput that names the option and the place.

    ``pointer`` is where the value stands in the body of a call.
    """
    try:
        return strict_json.read_json(raw, pointer)
    except InvalidInput as error:
        raise named(error, pointer, option) from error


def json_or_word(text: str, option: str, path: str) -> Any:
    """Return the JSON of an option ``PATH=JSON``, in which a word needs no quotes."""
    pointer = f"#/{path.replace('.', '/')}"
    try:
        return strict_json.read_json_or_word(text, pointer)
    except InvalidInput as error:
        raise named(error, pointer, f"{option} {path}") from error


def _read(name: str, option: str, limit: int) -> tuple[str, bytes]:
    try:
        if name == "-":
            path, raw = "stdin", sys.stdin.buffer.read(limit + 1)
        else:
            path = str(Path(name).resolve())
            with Path(path).open("rb") as handle:
                raw = handle.read(limit + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {name!r}.") from error
    except OSError as error:
        raise wrong_use(option, f"{name!r} cannot be read: {error.strerror}.") from error
    if len(raw) > limit:
        raise wrong_use(option, f"{name!r} is larger than {limit} bytes.")
    return path, raw
