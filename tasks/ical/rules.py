"""Recurrence rules of a file, checked and put into local time before a library follows them.

``icalendar`` reads the parts of a rule, but skips parts that it does not understand, and
``dateutil`` never ends on some values. A rule that a library would misread is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from typing import Any

from dateutil.rrule import rrulestr
from icalendar.prop import vRecur

from tasks.ical.lines import plain_text
from tasks.ical.values import NotRead, Property

_SHOWN = 40
_LARGEST = 999_999
_MOST_VALUES = 400
#: Lowest and highest number in each part; negative numbers count from the end.
_NUMBERS = {
    "COUNT": (1, 10**9, False),
    "INTERVAL": (1, _LARGEST, False),
    "BYSECOND": (0, 60, False),
    "BYMINUTE": (0, 59, False),
    "BYHOUR": (0, 23, False),
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYSETPOS": (1, 366, True),
}
_OTHERS = frozenset({"FREQ", "UNTIL", "BYDAY", "WKST"})
_SINGLE = frozenset({"FREQ", "UNTIL", "COUNT", "INTERVAL", "WKST"})
#: Rules of these frequencies cannot count weekdays, as in 2MO.
_NO_NTH_WEEKDAY = frozenset({"WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"})

#: From the value of UNTIL, a day or a time that may be UTC, to local time of the event.
Localize = Callable[[date], datetime]


def read_rule(item: Property, localize: Localize) -> str:
    """Return the rule of a property with its end in local time; '' where it is empty.

    Raise NotRead where the rule is not what RFC 5545 describes.
    """
    parts = _parts(item)
    if not parts:
        return ""
    try:
        rule = vRecur.from_ical(";".join(f"{key}={value}" for key, value in parts.items()))
    except ValueError:
        raise item.wrong(f"cannot be read: {plain_text(item.value, 2 * _SHOWN)!r}") from None
    if not rule.get("FREQ"):
        raise item.wrong("has no FREQ")
    for key, values in rule.items():
        _check(item, key, values)
    _check_weekdays(item, rule)
    until = rule.pop("UNTIL", None)
    text = str(rule.to_ical().decode())
    if until is None:
        return text
    if not isinstance(until[0], date):
        raise item.wrong("has an UNTIL that is no date and no time")
    return f"{text};UNTIL={localize(until[0]):%Y%m%dT%H%M%S}"


def day_end(day: date) -> datetime:
    """Return the last second of a day: UNTIL includes the day that it names."""
    return datetime.combine(day, time(23, 59, 59))


def follow(rule: str, start: datetime, last: datetime) -> Iterator[datetime]:
    """Yield the local times of a rule from ``start`` to ``last``, oldest first.

    Never returns for a rule that never meets a day: the caller has to stop it.
    """
    try:
        for local in rrulestr(rule, dtstart=start):
            if local > last:
                return
            yield local
    except (ValueError, OverflowError) as problem:
        raise NotRead(f"its rule cannot be followed: {problem}") from None


def _parts(item: Property) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in item.value.upper().replace(" ", "").split(";"):
        if not part:
            continue
        key, sign, value = part.partition("=")
        if not sign or not value or "=" in value:
            raise item.wrong(f"has a part without a value: {plain_text(part, _SHOWN)!r}")
        if key == "RSCALE" and value == "GREGORIAN":
            continue
        if key not in _NUMBERS and key not in _OTHERS:
            raise item.wrong(f"has {plain_text(key, _SHOWN)}, which is not read")
        if key in found:
            raise item.wrong(f"has {key} twice")
        found[key] = value
    return found


def _check(item: Property, key: str, values: list[Any]) -> None:
    if len(values) > (1 if key in _SINGLE else _MOST_VALUES):
        raise item.wrong(f"has too many values in {key}")
    if key not in _NUMBERS:
        return
    low, high, from_end = _NUMBERS[key]
    for value in values:
        number = abs(int(value)) if from_end else int(value)
        if not low <= number <= high:
            raise item.wrong(f"has {key}={int(value)}; it has to be from {low} to {high}")


def _check_weekdays(item: Property, rule: Any) -> None:
    weekdays = [str(day) for day in rule.get("BYDAY", ())]
    numbered = any(len(day) > 2 for day in weekdays)
    if numbered and str(rule["FREQ"][0]) in _NO_NTH_WEEKDAY:
        raise item.wrong("counts weekdays in BYDAY, which only months and years have")
