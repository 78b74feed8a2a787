"""The words of the grammar, and a reader that takes them one after the other.

`moments` and `recurrences` call it. Case, commas before "and", and the article "the" do not matter.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from tasks.schedules.zones import UnknownZone, Zone, all_names, find_zone

#: Longer than any sensible text; keeps a hostile one cheap.
MAX_LENGTH = 200

_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
#: Weekdays count from Sunday = 0, as in a cron expression.
WEEKDAYS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(_WEEKDAYS)},
    **{name[:3]: number for number, name in enumerate(_WEEKDAYS)},
    "tues": 2,
    "thur": 4,
    "thurs": 4,
}
#: "mondays" recurs; a moment has none.
WEEKDAYS_OFTEN: Mapping[str, int] = {f"{name}s": n for n, name in enumerate(_WEEKDAYS)}
MONTHS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
#: -1 is the last.
ORDINALS: Mapping[str, int] = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "last": -1,
}
NUMBERS: Mapping[str, int] = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
}
#: The unit of each spelling, in seconds.
UNITS: Mapping[str, int] = {
    spelling: seconds
    for spellings, seconds in (
        ("second seconds sec secs s", 1),
        ("minute minutes min mins m", 60),
        ("hour hours hr hrs h", 3_600),
        ("day days d", 86_400),
        ("week weeks w", 604_800),
    )
    for spelling in spellings.split()
}

_TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}t\d[\d:.]*(?:z|[+-]\d{2}:\d{2})?|\d{4}-\d{1,2}-\d{1,2}|(?:\d+[wdhms])+(?![a-z\d])|p(?:\d+[wd])*(?:t(?:\d+[hms])+)?(?![a-z])"
    r"|\d+(?::\d+)*[a-z]*|:\d+|[a-z]+|,|\S",
    re.ASCII,
)
_ARTICLES = ("the",)
_ZONE = re.compile(
    r",?\s*(?<!\S)([a-z_]+(?:/[\w+-]+)+|utc|gmt)(?=[\s,]|$)", re.ASCII | re.IGNORECASE
)
_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(am|pm)?", re.ASCII)
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.ASCII)
_NAMED_TIMES = {"noon": "12:00", "midnight": "0:00"}


class PlainTimeError(ValueError):
    """The text is no time that the grammar knows; the message is a sentence for the caller."""


class NotUnderstood(PlainTimeError):
    """The words are none of the grammar; a reader of other words may know them."""


class Clock(NamedTuple):
    """A time of day."""

    hour: int
    minute: int
    second: int = 0

    @property
    def seconds(self) -> int:
        """Return the seconds from midnight."""
        return self.hour * 3600 + self.minute * 60 + self.second

    def __str__(self) -> str:
        text = f"{self.hour:02d}:{self.minute:02d}"
        return f"{text}:{self.second:02d}" if self.second else text


class Words:
    """The words of a text, taken from the left; `at` is the place of the next one."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self.at = 0

    @property
    def next(self) -> str:
        """Return the next word without taking it; '' at the end."""
        return self.ahead(0)

    def ahead(self, count: int) -> str:
        """Return the word ``count`` places further; '' behind the end."""
        place = self.at + count
        return self._tokens[place] if place < len(self._tokens) else ""

    def take(self, *words: str) -> str:
        """Take and return the next word if it is one of these, else ''."""
        return self.take_of(words)

    def take_of(self, words: Container[str]) -> str:
        """Take and return the next word if it is in these, else ''."""
        word = self.next
        if not word or word not in words:
            return ""
        self.at += 1
        return word

    def take_joint(self) -> bool:
        """Take what stands between the items of a list: a comma, "and", or both."""
        comma = bool(self.take(","))
        return bool(self.take("and")) or comma

    def take_number(self) -> int | None:
        """Take a plain number, in digits or words; None for anything else."""
        word = self.next
        if word.isascii() and word.isdecimal() and len(word) <= 6:
            self.at += 1
            return int(word)
        found = NUMBERS.get(self.take_of(NUMBERS))
        return found

    def take_ordinal(self) -> int | None:
        """Take "first" to "fifth", "last" or "15th"; None for anything else."""
        if self.next in ORDINALS:
            return ORDINALS[self.take_of(ORDINALS)]
        found = _ORDINAL.fullmatch(self.next)
        if not found:
            return None
        self.at += 1
        return int(found[1])

    def take_time(self, *, bare: bool = False) -> Clock | None:
        """Take a time of day such as 9:00, 9am or noon; with ``bare`` also a plain hour."""
        text = _NAMED_TIMES.get(self.next, self.next)
        found = _TIME.fullmatch(text)
        if not found:
            return None
        half = found[4] or (self.ahead(1) if self.ahead(1) in ("am", "pm") else "")
        if not (bare or half or found[2]):
            return None
        self.at += 1 if found[4] or not half else 2
        return _clock(text, [int(part or 0) for part in found.group(1, 2, 3)], half)

    def take_until(self, ends: Container[str]) -> str:
        """Take and return the words up to one of these or the end, without commas around them."""
        begin = self.at
        while self.next and self.next not in ends:
            self.at += 1
        return self.since(begin).strip(", ")

    def since(self, begin: int) -> str:
        """Return the words that were taken since a place."""
        return " ".join(self._tokens[begin : self.at])

    def rest(self) -> str:
        """Return the words that are left."""
        return " ".join(self._tokens[self.at :])


def _clock(text: str, parts: list[int], half: str) -> Clock:
    hour, minute, second = parts
    if half and not 1 <= hour <= 12:
        raise PlainTimeError(f"{text!r} is no time: with am or pm the hour is 1 to 12.")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise PlainTimeError(f"{text!r} is no time of day; the last one is 23:59:59.")
    return Clock(hour, minute, second)


def split(text: str, zone: Zone) -> tuple[Words, Zone]:
    """Return the words of a text, and the zone that it names, or else the given one.

    Raise PlainTimeError for an unknown zone or a text that is too long.
    """
    if len(text) > MAX_LENGTH:
        raise PlainTimeError(f"The text is longer than {MAX_LENGTH} characters.")
    named = named_zone(text)
    rest = _ZONE.sub(" ", text, count=1).lower() if named else text.lower()
    return Words([token for token in _TOKEN.findall(rest) if token not in _ARTICLES]), named or zone


def named_zone(text: str) -> Zone | None:
    """Return the zone that a text names, None without one; raise PlainTimeError."""
    found = _ZONE.search(text[:MAX_LENGTH])
    return _zone(found[1]) if found else None


def _zone(name: str) -> Zone:
    known = {one.lower(): one for one in all_names()}
    try:
        return find_zone(known.get(name.lower(), name))
    except UnknownZone as error:
        raise PlainTimeError(f"{name!r}: {error}") from error


def not_understood(text: str, words: Words, examples: Sequence[str]) -> NotUnderstood:
    """Return the error for a text, with the word that stopped it and the nearest examples."""
    wanted = text.strip()
    near = difflib.get_close_matches(wanted.lower()[:MAX_LENGTH], examples, 3, 0.5)
    shown = wanted if len(wanted) <= 60 else f"{wanted[:60]}…"
    at = f" from '{words.rest()[:30]}' on" if words.at and words.next else ""
    offered = ", ".join(f"'{one}'" for one in near or examples[:3])
    return NotUnderstood(f"{shown!r} is not understood{at}. Write it like {offered}.")
