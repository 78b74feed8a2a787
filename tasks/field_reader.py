"""Strict reading of JSON objects: each field by its type and range, every error with its pointer.

Validation reads each part of a body through it. Reading goes on after an error, so that a
caller learns all mistakes at once; what was refused reads as its default meanwhile.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.json_pointer import child
from shared.strict_json import TEXT_INVALID, has_forbidden_character

#: Maximum number of errors in an answer; a person would not read more.
MAX_ERRORS = 50
_SHOWN_KEY = 100
_ABSENT: Any = object()
#: Control characters; ``has_forbidden_character`` finds those that no database can hold.
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")


class Errors:
    """The errors found so far in one body."""

    def __init__(self) -> None:
        self._found: list[FieldError] = []

    def add(self, pointer: str, code: str, message: str, path: tuple[str, ...] = ()) -> None:
        """Note an error; drop it when there are MAX_ERRORS already."""
        if not self.full:
            self._found.append(FieldError(pointer, code, message, path))

    @property
    def count(self) -> int:
        """How many errors were kept."""
        return len(self._found)

    @property
    def full(self) -> bool:
        """Whether further errors would be dropped, so that a search for them is useless."""
        return len(self._found) >= MAX_ERRORS

    def below(self, pointer: str) -> bool:
        """Return whether an error lies at the pointer or inside what it points to."""
        return any(
            error.pointer == pointer or error.pointer.startswith(f"{pointer}/")
            for error in self._found
        )

    def raise_if_any(self, rename: Callable[[str], str] = str) -> None:
        """Raise InvalidInput with every error, its pointer renamed to where the caller wrote."""
        if self._found:
            raise InvalidInput(self.renamed(rename))

    def renamed(self, rename: Callable[[str], str]) -> list[FieldError]:
        """Return the errors with their pointers renamed."""
        return [replace(error, pointer=rename(error.pointer)) for error in self._found]


class FieldReader:
    """Reads the fields of one JSON object; a wrong one is noted and read as its default."""

    def __init__(self, data: Mapping[str, Any], pointer: str, errors: Errors) -> None:
        self.data = data
        self.pointer = pointer
        self.errors = errors

    def error(self, key: str, code: str, message: str) -> None:
        """Note an error of the field."""
        self.errors.add(child(self.pointer, key), code, message)

    def given(self, key: str) -> bool:
        """Return whether the field is there and not null."""
        return self.data.get(key) is not None

    def require(self, key: str, hint: str) -> None:
        """Note the field's absence with a sentence that says what to give."""
        if key not in self.data:
            self.error(key, "required", hint)

    def part(self, key: str) -> FieldReader | None:
        """Return the reader of an object inside; None where it is absent, null or no object."""
        value = self._value(key, Mapping, "an object", True)
        return (
            None if value is _ABSENT else FieldReader(value, child(self.pointer, key), self.errors)
        )

    def text(
        self,
        key: str,
        default: Any,
        *,
        longest: int,
        nullable: bool = False,
        printable: bool = True,
    ) -> Any:
        """Return a text of 1 to ``longest`` characters that a database and a log can hold."""
        value = self._value(key, str, "text", nullable)
        if value is _ABSENT:
            return default
        problem = text_problem(value, longest=longest, printable=printable)
        if problem:
            self.error(key, *problem)
            return default
        return value

    def choice(self, key: str, words: Sequence[str], default: str) -> str:
        """Return one of the words."""
        value = self._value(key, str, "text", False)
        if value is _ABSENT:
            return default
        if value not in words:
            self.error(key, "invalid_choice", f"Use {spell(words)}.{suggest(value, words)}")
            return default
        return str(value)

    def number(
        self, key: str, default: Any, low: float, high: float, *, nullable: bool = False
    ) -> Any:
        """Return a finite number within the bounds; a whole one as an integer."""
        value = self._value(key, (int, float), "a number", nullable)
        if value is _ABSENT:
            return default
        problem = number_problem(value, low, high)
        if problem:
            self.error(key, *problem)
            return default
        return whole(value)

    def integer(
        self, key: str, default: Any, low: int, high: int, *, nullable: bool = False
    ) -> Any:
        """Return a whole number within the bounds; ``5.0`` is not one."""
        value = self._value(key, int, "a whole number", nullable)
        if value is _ABSENT:
            return default
        if not low <= value <= high:
            self.error(key, "out_of_range", f"Must be from {low} to {high}.")
            return default
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, bool, "true or false", False)
        return default if value is _ABSENT else bool(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return an object; an empty one where it is absent or wrong."""
        value = self._value(key, Mapping, "an object", False)
        return {} if value is _ABSENT else value

    def sequence(self, key: str, default: list[Any]) -> list[Any]:
        """Return a list."""
        value = self._value(key, list, "a list", False)
        return default if value is _ABSENT else value

    def refuse_unknown(
        self,
        known: Iterable[str],
        *,
        read_only: Iterable[str] = (),
        elsewhere: Callable[[str], str] = lambda key: "",
    ) -> None:
        """Note every field that is not known, with the name that was probably meant.

        ``elsewhere`` returns the sentence that says where a field of this name belongs, or ''.
        """
        names = list(known)
        for key in self.data:
            if self.errors.full:
                return
            if key in names:
                continue
            if key in read_only:
                self.error(key, "read_only", "This field is answered but cannot be set.")
            else:
                hint = elsewhere(key) or suggest(key, names)
                self.error(key, "unknown_field", f"There is no such field.{hint}")

    def _value(self, key: str, kind: type | tuple[type, ...], called: str, nullable: bool) -> Any:
        if key not in self.data:
            return _ABSENT
        value = self.data[key]
        if value is None:
            if not nullable:
                self.error(key, "null", f"Must be {called}, not null; leave it out instead.")
            return _ABSENT
        # A bool is an int to Python, but not to the caller.
        wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        if wrong:
            self.error(key, "invalid_type", f"Must be {called}, not {called_in_json(value)}.")
            return _ABSENT
        return value


def text_problem(value: str, *, longest: int, printable: bool = True) -> tuple[str, str] | None:
    """Return code and sentence of what is wrong with a text, or None."""
    if not value.strip():
        return "blank", "Must not be empty."
    if len(value) > longest:
        return "too_long", f"Must be at most {longest} characters long."
    if has_forbidden_character(value):
        return "invalid_characters", TEXT_INVALID[1]
    if printable and _UNPRINTABLE.search(value):
        return "invalid_characters", "Must not contain control characters."
    return None


def number_problem(value: Any, low: float, high: float) -> tuple[str, str] | None:
    """Return code and sentence of what is wrong with a number, or None."""
    if (isinstance(value, float) and not math.isfinite(value)) or not low <= value <= high:
        return "out_of_range", f"Must be from {low:g} to {high:.12g}."
    return None


def whole(value: float) -> float:
    """Return a whole number as an integer, so that 30 and 30.0 are one definition."""
    return int(value) if value == int(value) else value


def is_number(value: Any) -> bool:
    """Return whether the value is a JSON number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def called_in_json(value: Any) -> str:
    """Return what JSON calls the value's type."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    return "null" if value is None else "a list"


def spell(words: Sequence[str], last: str = "or") -> str:
    """Return the words as 'a, b or c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def suggest(word: str, words: Iterable[str]) -> str:
    """Return ' Did you mean …?' with the nearest of the words, or nothing."""
    near = difflib.get_close_matches(str(word)[:_SHOWN_KEY].lower(), _by_lower(words), 1, 0.7)
    return f" Did you mean {_by_lower(words)[near[0]]!r}?" if near else ""


def _by_lower(words: Iterable[str]) -> dict[str, str]:
    return {word.lower(): word for word in words}
