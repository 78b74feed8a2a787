"""JSON as every door of the product reads it: one judgement, one set of codes and sentences.

``read_json`` reads text: bodies of the API, fields of forms, options and files of commands, pasted
commands. ``json_problem`` judges a value that Python code built. Refused: anything but UTF-8, NaN
and infinities, numbers that do not fit, duplicate names, NUL characters, lone surrogates, nesting
over 64 levels of the whole body. Judged before or while parsing, so that a hostile text is as cheap
as an honest one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from shared.exceptions import FieldError, InvalidInput
from shared.json_pointer import child

MAX_DEPTH = 64
#: The range of a 64-bit receiver and the JSON encoder, with a sign or without.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1

#: Code and sentence of each problem, the same in a text and in a value.
TEXT_INVALID = ("text_invalid", "Must not contain NUL characters or lone surrogates.")
_TOO_DEEP = (
    "json_too_deep",
    f"Must not be nested deeper than {MAX_DEPTH} levels, counted from the whole body.",
)
_INTEGER_TOO_LARGE = (
    "number_out_of_range",
    "Whole numbers must fit into 64 bits. Write larger ones as text.",
)
_DECIMAL_TOO_LARGE = (
    "number_out_of_range",
    "Must be a finite number; the largest is near 1.8e308. Write larger ones as text.",
)
_DECIMAL_TOO_SMALL = (
    "number_out_of_range",
    "Would be kept as zero; the number nearest to zero is 5e-324. Write smaller ones as text.",
)
_NO_JSON_TYPE = (
    "invalid_type",
    "Must be JSON: text, number, true, false, null, list or object.",
)

# Strings are taken whole (possessively: no backtracking), so brackets in texts do not count.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TO_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
# Only texts spelled with these escapes can hold NUL or surrogates once the bytes are UTF-8.
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_FORBIDDEN_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_MARK = "\ufeff"
_BLANKS = " \t\r\n"
_NOT_ZERO = re.compile(r"-?[0.]*[1-9]")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


class _Misfit(Exception):
    """A value that is JSON by its form and cannot be carried; raised, or left in its place."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.problem = (code, message)


def read_json(source: bytes | str, pointer: str = "#") -> Any:
    """Return the value of strict JSON; raise InvalidInput that says what is wrong and where.

    ``pointer`` is the field of the text; errors name the place below it. The depth of
    the field counts, so that a payload may be nested as deep in a form as in a body of the API.
    """
    raw, text = _decoded(source, pointer)
    _refuse_depth(raw, text, pointer)
    try:
        value = _value(text, pointer)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        _refuse(pointer, "json_invalid", f"This is not JSON: {error.msg} at {place}.")
    if _SUSPICIOUS_ESCAPE.search(text):
        refuse_forbidden_characters(value, pointer)
    return value


def read_json_or_word(text: str, pointer: str = "#", *, marks: str = '{["') -> Any:
    """Return the value of strict JSON, or the text itself where it is meant as a word.

    A text that begins with one of the ``marks``, or that names no number of JSON, is meant as
    JSON: it is refused rather than taken for a word.
    """
    try:
        return read_json(text, pointer)
    except InvalidInput as error:
        bare = text.strip(_BLANKS)
        is_word = bare[:1] not in (*marks, _MARK) and bare not in _NO_NUMBERS
        if is_word and error.errors[0].code == "json_invalid" and not has_forbidden_character(text):
            return text
        raise


def named(refused: InvalidInput, pointer: str, name: str) -> InvalidInput:
    """Return the error with the field's name in its sentences, and the place inside of it."""
    found = []
    for error in refused.errors:
        inner = error.pointer.removeprefix(pointer).strip("/").replace("/", ".")
        message = ": ".join(part for part in (name, inner, error.message) if part)
        found.append(FieldError(error.pointer, error.code, message))
    return InvalidInput(found, found[0].message)


def refuse_forbidden_characters(value: Any, pointer: str = "#") -> None:
    """Raise InvalidInput if any text in the value, names too, holds NUL or a lone surrogate."""
    for place, item, _ in _walk(value, pointer):
        if isinstance(item, str) and has_forbidden_character(item):
            _refuse(place, *TEXT_INVALID)


def has_forbidden_character(text: str) -> bool:
    """Return whether the text holds characters that the database and logs cannot hold."""
    return _FORBIDDEN_CHARACTER.search(text) is not None


def json_problem(value: Any, pointer: str = "#") -> tuple[str, str, str] | None:
    """Return pointer, code and sentence of a value that is not portable JSON, or None."""
    # Level by level instead of recursion: the depth is the caller's to choose. Places are only
    # spelled out once something is wrong, since most values are right.
    level: list[Any] = [value]
    for _ in range(_levels_below(pointer) + 1):
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item.values())
                if any(not isinstance(key, str) or has_forbidden_character(key) for key in item):
                    return next(_problems(value, pointer))
            elif isinstance(item, list):
                following.extend(item)
            elif _scalar_problem(item):
                return next(_problems(value, pointer))
        if not following:
            return None
        level = following
    return next(_problems(value, pointer))


def _problems(value: Any, pointer: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, code and sentence of what is wrong, in the order of the document."""
    deepest = _levels_below(pointer)
    for place, item, depth in _walk(value, pointer):
        if depth > deepest:
            yield place, *_TOO_DEEP
            return
        problem = None if isinstance(item, dict | list) else _scalar_problem(item)
        if problem:
            yield place, *problem


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, Any, int]]:
    """Yield each value and each name with its place and depth, in the order of the document."""
    pending: list[Iterator[tuple[str, Any, int]]] = [iter([(pointer, value, 0)])]
    while pending:
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
            continue
        yield found
        if isinstance(found[1], dict | list):
            pending.append(_inside(*found))


def _inside(place: str, item: dict[Any, Any] | list[Any], depth: int) -> Iterator[Any]:
    if isinstance(item, list):
        yield from ((f"{place}/{at}", part, depth + 1) for at, part in enumerate(item))
        return
    for key, part in item.items():
        at = child(place, str(key))
        yield at, key if isinstance(key, str) else _Misfit(*_NO_JSON_TYPE), depth
        yield at, part, depth + 1


def _scalar_problem(item: Any) -> tuple[str, str] | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, str):
        return TEXT_INVALID if has_forbidden_character(item) else None
    if isinstance(item, int):
        return None if _LOWEST <= item <= _HIGHEST else _INTEGER_TOO_LARGE
    if isinstance(item, float):
        return None if math.isfinite(item) else _DECIMAL_TOO_LARGE
    return item.problem if isinstance(item, _Misfit) else _NO_JSON_TYPE


def _levels_below(pointer: str) -> int:
    return MAX_DEPTH - pointer.count("/")


def _value(text: str, pointer: str) -> Any:
    try:
        return _STRICT.decode(text)
    except _Misfit:
        # Read again, with a mark for each misfit: its place is needed only now.
        _refuse(*next(_problems(_MARKING.decode(text), pointer)))


def _decoded(source: bytes | str, pointer: str) -> tuple[bytes, str]:
    try:
        raw = source.encode() if isinstance(source, str) else source
        text = raw.decode()
    except UnicodeError as error:
        at = f"bad byte at offset {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        _refuse(pointer, "json_invalid", f"This is not UTF-8 text{at and f': {at}'}.")
    if text.startswith(_MARK):
        remedy = "Save it as UTF-8 without one."
        _refuse(
            pointer, "json_invalid", f"This is not JSON: it begins with a byte order mark. {remedy}"
        )
    return raw, text


def _refuse_depth(raw: bytes, text: str, pointer: str) -> None:
    deepest = _levels_below(pointer)
    if raw.count(b"[") + raw.count(b"{") <= deepest:
        return
    brackets = _STRINGS.sub(b"", raw).translate(_TO_SQUARE, _NOT_BRACKETS)
    for _ in range(deepest):
        before = len(brackets)
        brackets = brackets.replace(b"[]", b"")  # removes the innermost level everywhere
        if len(brackets) == before:
            break
    # The decoder reports where a few unmatched brackets are.
    if len(brackets) > deepest or b"[]" in brackets:
        _refuse(_deep_place(text, pointer, deepest), *_TOO_DEEP)


def _deep_place(text: str, pointer: str, deepest: int) -> str:
    """Return the place at which the text passes the depth, from its brackets and names."""
    #: Of each open bracket: the name or the number of the item that is being read.
    inside: list[str | int] = []
    awaits_name = False
    for found in _TOKENS.finditer(text):
        mark = found[0]
        if mark in ("[", "{"):
            if len(inside) == deepest:
                break
            awaits_name = mark == "{"
            inside.append("" if awaits_name else 0)
        elif mark in ("]", "}"):
            del inside[-1:]
            awaits_name = False
        elif mark == "," and inside:
            awaits_name = isinstance(inside[-1], str)
            inside[-1:] = ["" if awaits_name else int(inside[-1]) + 1]
        elif awaits_name:
            inside[-1:] = [mark[1:-1]]
            awaits_name = False
    for at in inside:
        pointer = child(pointer, str(at))
    return pointer


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Misfit("json_duplicate_name", "")
    return value


def _marked_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, item in pairs:
        sentence = f"The name {name[:100]!r} occurs twice in one object."
        value[name] = _Misfit("json_duplicate_name", sentence) if name in value else item
    return value


def _integer(text: str) -> int:
    # The length is judged first: converting thousands of digits is slow, then an error.
    if len(text) <= 20 and _LOWEST <= (value := int(text)) <= _HIGHEST:
        return value
    raise _Misfit(*_INTEGER_TOO_LARGE)


def _decimal(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Misfit(*_DECIMAL_TOO_LARGE)
    if not value and _NOT_ZERO.match(text):
        raise _Misfit(*_DECIMAL_TOO_SMALL)
    return value


def _constant(text: str) -> NoReturn:
    raise _Misfit("json_invalid", f"This is not JSON: {text} is no number in JSON.")


def _marking(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the reader of a number that returns a misfit instead of raising it."""

    def marked(text: str) -> Any:
        try:
            return read(text)
        except _Misfit as misfit:
            return misfit

    return marked


def _refuse(pointer: str, code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError(pointer, code, message)], message)


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_constant,
)
_MARKING = json.JSONDecoder(
    object_pairs_hook=_marked_object,
    parse_int=_marking(_integer),
    parse_float=_marking(_decimal),
    parse_constant=_marking(_constant),
)
