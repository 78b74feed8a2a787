"""Values of a definition as the texts of fields, and back.

Pure. A text that no field can show as it is, for example a list in the place of a number, is shown
as JSON. A number that cannot be read stays a text, which validation refuses at its place; what
would not be the meant value, such as JSON that is cut off, is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from dashboard.payload_form import pretty
from dashboard.task_form.values import Form, lines, read_pairs, read_words
from shared.exceptions import InvalidInput
from shared.strict_json import TEXT_INVALID, has_forbidden_character, json_problem, read_json
from shared.strict_yaml import read_yaml

#: In place of a value: the field is not given.
ABSENT: Any = object()
_FIELD = "field"
#: The deepest place of a field, and one more: an empty list at the end is a level of text alone.
_DEEPEST = "#/steps/0/compensate/payload/0"
_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,4})?", re.ASCII)


class Unreadable(ValueError):
    """The text of a field has no value; the message says why."""


def show(widget: str, value: Any) -> str:
    """Return the text that shows the value; '' for what is not given."""
    if value is ABSENT or value is None:
        return ""
    text = _SHOW[widget](value)
    if text is not None and _reads_as(widget, text, value):
        return text
    return str(value) if isinstance(value, str) else _json(value)


def read(widget: str, text: str) -> Any:
    """Return the value of a text, ABSENT for an empty one; raise Unreadable."""
    text = "\n".join(lines(text))
    if has_forbidden_character(text):
        raise Unreadable(TEXT_INVALID[1])
    if not text.strip():
        return ABSENT
    return _READ[widget](text)


def _reads_as(widget: str, text: str, value: Any) -> bool:
    try:
        found = read(widget, text)
    except Unreadable:
        return False
    return type(found) is type(value) and bool(found == value)


def _json(value: Any) -> str:
    return pretty(value) if isinstance(value, dict | list) else orjson.dumps(value).decode()


def _show_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _show_number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value)


def _show_truth(value: Any) -> str | None:
    return ("yes" if value else "no") if isinstance(value, bool) else None


def _show_json(value: Any) -> str | None:
    return value if isinstance(value, str) and _reads_as("json", value, value) else _json(value)


def _show_pairs(separator: str) -> Callable[[Any], str | None]:
    def shown(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return None
        return "\n".join(f"{name}{separator}{part}" for name, part in value.items())

    return shown


def _show_list(between: str) -> Callable[[Any], str | None]:
    def shown(value: Any) -> str | None:
        if not isinstance(value, list):
            return None
        return between.join(str(part) for part in value)

    return shown


def _read_number(text: str) -> Any:
    bare = text.strip()
    if not _NUMBER.fullmatch(bare):
        return bare
    number = int(bare) if bare.lstrip("+-").isdecimal() else float(bare)
    return bare if json_problem(number) else number


def _read_truth(text: str) -> Any:
    return {"yes": True, "no": False}.get(text.strip(), text.strip())


def _read_json(text: str) -> Any:
    """Return the value of JSON or YAML; one template alone is a text, not an object in braces."""
    bare = text.strip()
    if bare.startswith("{{"):
        return bare
    try:
        value = read_json(bare, _DEEPEST) if bare[0] in '{["' else read_yaml(text)
    except InvalidInput as refused:
        raise Unreadable(refused.errors[0].message) from refused
    problem = json_problem(value, _DEEPEST)
    if problem:
        raise Unreadable(problem[2])
    return value


def _read_pairs(separator: str) -> Callable[[str], Any]:
    def pairs(text: str) -> Any:
        if text.lstrip()[:1] in ("{", "["):
            return _read_json(text)
        form = Form({_FIELD: text}, {}, {}, [])
        found = read_pairs(form, _FIELD, separator, "#")
        if form.errors:
            raise Unreadable(form.errors[0].message)
        return found

    return pairs


def _read_words(text: str) -> Any:
    return _read_json(text) if text.lstrip()[:1] == "[" else read_words(_form(text), _FIELD)


def _read_numbers(text: str) -> Any:
    found = _read_words(text)
    return [_read_number(one) if isinstance(one, str) else one for one in found]


def _read_lines(text: str) -> Any:
    if text.lstrip()[:1] == "[":
        return _read_json(text)
    return [line for line in text.split("\n") if line.strip()]


def _form(text: str) -> Form:
    return Form({_FIELD: text}, {}, {}, [])


def _stripped(text: str) -> str:
    return text.strip()


_SHOW: Mapping[str, Callable[[Any], str | None]] = {
    "text": _show_text,
    "choice": _show_text,
    "area": _show_text,
    "number": _show_number,
    "truth": _show_truth,
    "json": _show_json,
    "headers": _show_pairs(": "),
    "pairs": _show_pairs("="),
    "words": _show_list(", "),
    "numbers": _show_list(", "),
    "lines": _show_list("\n"),
}
_READ: Mapping[str, Callable[[str], Any]] = {
    "text": _stripped,
    "choice": _stripped,
    "area": _stripped,
    "number": _read_number,
    "truth": _read_truth,
    "json": _read_json,
    "headers": _read_pairs(":"),
    "pairs": _read_pairs("="),
    "words": _read_words,
    "numbers": _read_numbers,
    "lines": _read_lines,
}
