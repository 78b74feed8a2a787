"""iCalendar text (RFC 5545) as components with their properties, each with its line.

Only the form is read here; `ical` knows what events mean. What is not iCalendar is refused with
the line where it stops being so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.exceptions import FieldError, InvalidInput

#: Longer than any calendar of 10,000 days.
MAX_CHARACTERS = 2 * 1024 * 1024
_DEEPEST = 8
_LONGEST_LINE = 100_000
_SHOWN = 60
_END_OF_LINE = re.compile(r"\r\n|\n|\r")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)=("[^"]*"|[^";:,]*)((?:,(?:"[^"]*"|[^";:,]*))*)')


@dataclass(frozen=True, slots=True)
class Property:
    """One content line: its name in capitals, parameters, raw value and line number."""

    line: int
    name: str
    parameters: dict[str, str]
    value: str


@dataclass(slots=True)
class Component:
    """What stands between BEGIN and END."""

    line: int
    name: str
    properties: list[Property] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)

    def first(self, name: str) -> Property | None:
        """Return the first property of the name."""
        return next((item for item in self.properties if item.name == name), None)

    def all(self, name: str) -> list[Property]:
        """Return every property of the name."""
        return [item for item in self.properties if item.name == name]


def refuse(line: int, message: str) -> InvalidInput:
    """Return the error of a line; pointer and message both say which."""
    text = f"Line {line}: {message}"
    return InvalidInput([FieldError("#/ical", "ical_invalid", text)], text)


def read_components(text: str) -> list[Component]:
    """Return the calendars of a text; raise InvalidInput with the line of what is broken."""
    if len(text) > MAX_CHARACTERS:
        raise refuse(1, f"The text is longer than {MAX_CHARACTERS} characters.")
    found: list[Component] = []
    stack: list[Component] = []
    for line, content in _unfolded(text):
        item = _property(line, content)
        if item.name == "BEGIN":
            _begin(item, stack, found)
        elif not stack:
            raise refuse(line, "An iCalendar text begins with BEGIN:VCALENDAR.")
        elif item.name == "END":
            if item.value.strip().upper() != stack[-1].name:
                raise refuse(line, f"END:{stack[-1].name} is expected before this.")
            stack.pop()
        else:
            stack[-1].properties.append(item)
    if stack:
        raise refuse(stack[-1].line, f"BEGIN:{stack[-1].name} is never ended.")
    if not found:
        raise refuse(1, "An iCalendar text begins with BEGIN:VCALENDAR.")
    return found


def plain_text(value: str, longest: int) -> str:
    """Return a text value without its escapes, in one line, cut to a length."""
    text = re.sub(r"\\(.)", lambda found: " " if found[1] in "nN" else found[1], value)
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:longest]


def _begin(item: Property, stack: list[Component], found: list[Component]) -> None:
    made = Component(item.line, item.value.strip().upper())
    if not stack and made.name != "VCALENDAR":
        raise refuse(item.line, "An iCalendar text begins with BEGIN:VCALENDAR.")
    if len(stack) >= _DEEPEST:
        raise refuse(item.line, "This is nested too deeply.")
    (stack[-1].components if stack else found).append(made)
    stack.append(made)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines: a line that begins with a blank goes on with the one before."""
    started, parts, size = 0, [""], 0
    for number, line in enumerate(_END_OF_LINE.split(text.removeprefix("\ufeff")), 1):
        if line[:1] in (" ", "\t") and started:
            parts.append(line[1:])
            size += len(line)
            if size > _LONGEST_LINE:
                raise refuse(started, "This line is too long.")
            continue
        if any(parts):
            yield started, "".join(parts)
        started, parts, size = number, [line], len(line)
    if any(parts):
        yield started, "".join(parts)


def _property(line: int, content: str) -> Property:
    name = _NAME.match(content)
    if name is None or len(content) > _LONGEST_LINE:
        raise refuse(line, f"This is no iCalendar line: {plain_text(content, _SHOWN)!r}.")
    place, parameters = name.end(), {}
    while found := _PARAMETER.match(content, place):
        parameters[found[1].upper()] = found[2].strip('"')
        place = found.end()
    if content[place : place + 1] != ":":
        raise refuse(line, f"There is no value after {plain_text(content[:place], _SHOWN)!r}.")
    return Property(line, name[0].upper(), parameters, content[place + 1 :])
