"""The content lines of an iCalendar file, with their numbers, as calendars, zones and events.

Only the form is read here, from bytes: any of the usual encodings and line ends, with lines folded
anywhere, even within a character. Lines that days and windows do not need are dropped unread, so a
picture in an attachment costs nothing. A broken line spoils its own event alone.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tasks.ical.found import NotIcal

#: Longer than any list of dates that a calendar can hold.
LONGEST_LINE = 200_000
#: Components nested deeper than this are skipped.
_DEEPEST = 16
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_NAME = re.compile(r"\s*([A-Za-z0-9-]+)\s*[;:]")
_WORD = re.compile(r"\s*([A-Za-z0-9-]+)")
_ESCAPE = re.compile(r"\\(.)")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    # Without a mark, the two bytes of the first letter show which UTF-16 it is.
    (b"B\0", "utf-16-le"),
    (b"\0B", "utf-16-be"),
)
_RULES = frozenset({"DTSTART", "RRULE", "RDATE", "TZOFFSETFROM", "TZOFFSETTO"})
#: Properties that decide an event's time; without one of these lines it would be another time.
DECISIVE = frozenset(
    {
        *("DTSTART", "DTEND", "DURATION", "RRULE", "EXRULE", "RDATE", "EXDATE"),
        *("RECURRENCE-ID", "STATUS", "SEQUENCE"),
    }
)
#: The properties that are read, by component.
_READ = {
    "VCALENDAR": frozenset({"X-WR-TIMEZONE", "METHOD", "CALSCALE"}),
    "VTIMEZONE": frozenset({"TZID"}),
    "STANDARD": _RULES,
    "DAYLIGHT": _RULES,
    "VEVENT": DECISIVE | {"UID", "SUMMARY"},
}
_PARENT = {
    "VTIMEZONE": "VCALENDAR",
    "VEVENT": "VCALENDAR",
    "STANDARD": "VTIMEZONE",
    "DAYLIGHT": "VTIMEZONE",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A content line as it was written, unfolded, with the number of its first part."""

    number: int
    name: str
    text: str


@dataclass(slots=True)
class Component:
    """The lines between BEGIN and END that are read, and the components within."""

    number: int
    name: str
    lines: list[Line] = field(default_factory=list)
    parts: list[Component] = field(default_factory=list)
    #: Why the component cannot be used, where its form is broken.
    problem: str = ""
    #: The first line in it that is no property.
    stray: int = 0

    def first(self, name: str) -> Line | None:
        """Return the first line of the name."""
        return next((line for line in self.lines if line.name == name), None)

    def all(self, name: str) -> list[Line]:
        """Return every line of the name."""
        return [line for line in self.lines if line.name == name]


@dataclass(slots=True)
class Calendar(Component):
    """A VCALENDAR; ``others`` counts components that are no events, with the line of the first."""

    others: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_calendars(raw: bytes, charset: str = "") -> list[Calendar]:
    """Return the calendars of a file; raise NotIcal where there are none."""
    reader = _Reader()
    for number, content in _unfolded(_in_utf8(raw, charset)):
        reader.take(number, content)
    if not reader.calendars:
        raise NotIcal(1, "An iCalendar file has a line BEGIN:VCALENDAR.")
    reader.close_all("the file ends")
    return reader.calendars


def plain_text(value: str, longest: int) -> str:
    """Return a text value without its escapes, in one line, cut to a length."""
    value = value[: 4 * longest]
    text = _ESCAPE.sub(lambda found: " " if found[1] in "nN" else found[1], value)
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:longest]


class _Reader:
    """Sorts lines into components; a component without an END spoils no other."""

    def __init__(self) -> None:
        self.calendars: list[Calendar] = []
        self._open: list[Component] = []
        self._too_deep = 0

    def take(self, number: int, content: bytes) -> None:
        """Take the next line."""
        if len(content) > LONGEST_LINE:
            self._take_long(number, content)
            return
        text = _decoded(content)
        found = _NAME.match(text)
        if found is None:
            self._take_stray(number, text)
            return
        name = found[1].upper()
        if name in ("BEGIN", "END"):
            word = text[found.end() :].strip().upper()
            (self._begin if name == "BEGIN" else self._end)(number, word)
        elif self._open and not self._too_deep and name in _READ.get(self._open[-1].name, ()):
            self._open[-1].lines.append(Line(number, name, text))

    def close_all(self, why: str) -> None:
        """End every open component; none of them is whole."""
        while self._open:
            self._close(why)

    def _take_long(self, number: int, content: bytes) -> None:
        found = _NAME.match(_decoded(content[:100]))
        name = found[1].upper() if found else ""
        if self._needs(name):
            self._spoil(f"its {name} (line {number}) is longer than {LONGEST_LINE} bytes")

    def _take_stray(self, number: int, text: str) -> None:
        word = _WORD.match(text)
        if self._needs(word[1].upper() if word else ""):
            self._spoil(f"its {word[1].upper() if word else ''} (line {number}) has no colon")
        elif self._open and not self._too_deep and text.strip():
            self._open[-1].stray = self._open[-1].stray or number

    def _needs(self, name: str) -> bool:
        """Return whether the open component needs the property."""
        if not self._open or self._too_deep or name in ("SUMMARY", "UID"):
            return False
        return name in _READ.get(self._open[-1].name, ())

    def _spoil(self, problem: str) -> None:
        self._open[-1].problem = self._open[-1].problem or problem

    def _begin(self, number: int, name: str) -> None:
        if name == "VCALENDAR":
            self.close_all(f"line {number} begins another calendar")
            self._too_deep = 0
            calendar = Calendar(number, name)
            self.calendars.append(calendar)
            self._open.append(calendar)
            return
        if name == "VEVENT":
            self._return_to_calendar(number)
        if not self._open:
            return
        if self._too_deep or len(self._open) >= _DEEPEST:
            self._too_deep += 1
        else:
            self._add(Component(number, name))

    def _return_to_calendar(self, number: int) -> None:
        """Close components that hold no events; an event after a calendar's end belongs to it."""
        self._too_deep = 0
        if self._open:
            self._close_above("VCALENDAR", f"line {number} begins an event")
        else:
            self._open += self.calendars[-1:]

    def _add(self, component: Component) -> None:
        parent = self._open[-1]
        if _PARENT.get(component.name) == parent.name:
            parent.parts.append(component)
        elif isinstance(parent, Calendar):
            line, count = parent.others.get(component.name, (component.number, 0))
            parent.others[component.name] = (line, count + 1)
        self._open.append(component)

    def _end(self, number: int, name: str) -> None:
        if self._too_deep:
            self._too_deep -= 1
        elif any(one.name == name for one in self._open):
            self._close_above(name, f"line {number} ends {name}")
            self._open.pop()

    def _close_above(self, name: str, why: str) -> None:
        while self._open[-1].name != name:
            self._close(why)

    def _close(self, why: str) -> None:
        component = self._open.pop()
        component.problem = component.problem or f"it has no END:{component.name} before {why}"


# --- bytes ---------------------------------------------------------------------------------


def _in_utf8(raw: bytes, charset: str) -> bytes:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            if encoding == "utf-8":
                return raw.removeprefix(mark)
            return raw.decode(encoding, "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    if charset:
        return raw.decode(charset, "replace").encode("utf-8", "replace")
    return raw


def _unfolded(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield logical lines: a line that begins with a blank continues the one before.

    Empty lines are skipped, also before a folded part: some programs double all line ends.
    """
    started, parts = 0, [b""]
    for number, found in enumerate(_LINE.finditer(raw), 1):
        line = found[1]
        if not line:
            continue
        if line[0] in b" \t" and started:
            parts.append(line[1:])
            continue
        if started:
            yield started, b"".join(parts)
        started, parts = number, [line]
    if started:
        yield started, b"".join(parts)


def _decoded(content: bytes) -> str:
    """Return a line as text: UTF-8, or else the encoding of old Windows programs."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
