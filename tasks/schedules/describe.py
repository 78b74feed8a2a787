"""Schedules in plain English words, for the API, the console and commands.

Cron wording comes from cron-descriptor, piece by piece, so that the two day fields can be joined
by the rule that is really applied (both must match, or either suffices).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from cron_descriptor import DescriptionTypeEnum, ExpressionDescriptor, Options

from tasks.schedules.cron_parse import CronFields
from tasks.schedules.zones import Zone

_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_EVERY_TIME = ("*", "*", "*", "*", "*", "*")
_DAY, _MONTH, _WEEKDAY = 3, 4, 5


def once_text(at: datetime, zone: Zone) -> str:
    """Describe a one-time schedule: 'Once at 2026-12-31 08:00:00, Europe/Berlin'."""
    return f"Once at {_local(at, zone)}, {zone.name}"


def interval_text(step: timedelta, zone: Zone, start: datetime, end: datetime | None) -> str:
    """Describe a fixed rate: 'Every 5 minutes from 2026-12-31 08:00:00, Europe/Berlin'."""
    until = f" until {_local(end, zone)}" if end else ""
    return f"Every {_length(step)} from {_local(start, zone)}{until}, {zone.name}"


def cron_text(
    fields: CronFields,
    zone: Zone,
    start: datetime | None,
    end: datetime | None,
    working_day: int | None = None,
) -> str:
    """Describe a cron schedule: 'At 08:00, every day, Europe/Berlin'."""
    parts = [_cron_words(fields, working_day), zone.name]
    if start:
        parts.append(f"from {_local(start, zone)}")
    if end:
        parts.append(f"until {_local(end, zone)}")
    return ", ".join(parts)


@lru_cache(maxsize=8192)
def _cron_words(fields: CronFields, working_day: int | None) -> str:
    texts = [_tidy(fields, index) for index in range(6)]
    time = _words((*texts[:3], "*", "*", "*"), DescriptionTypeEnum.TIMEOFDAY)
    month = _words(("0", "0", "0", "*", texts[_MONTH], "*"), DescriptionTypeEnum.MONTH)
    days = _working_day_words(working_day) if working_day else _day_words(fields, texts)
    parts = (time[:1].upper() + time[1:], days, month)
    return ", ".join(part for part in parts if part)


def _working_day_words(which: int) -> str:
    number = abs(which)
    ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    count = "" if which == -1 else f"{number}{ending} "
    return f"on the {count}{'' if which > 0 else 'last '}working day of the month"


def _day_words(fields: CronFields, texts: list[str]) -> str:
    any_day, any_weekday = texts[_DAY] == "*", texts[_WEEKDAY] == "*"
    if (any_day and any_weekday) or ((any_day or any_weekday) and not fields.both_days):
        return "every day" if fields.fixed_time else ""
    day = _items(_DAY, texts[_DAY], DescriptionTypeEnum.DAYOFMONTH)
    weekday = _items(_WEEKDAY, texts[_WEEKDAY], DescriptionTypeEnum.DAYOFWEEK)
    if any_day or any_weekday:
        return weekday if any_day else day
    if fields.both_days:
        return f"{day} and {weekday} (both must match)"
    return f"{day} or {weekday} (either suffices)"


def _items(index: int, text: str, part: DescriptionTypeEnum) -> str:
    # cron-descriptor understands L, W and # only when they stand alone.
    items = text.split(",") if _is_special(text) else [text]
    described = []
    for item in items:
        texts = list(_EVERY_TIME)
        texts[index] = item
        described.append(_words(tuple(texts), part))
    return " and ".join(described)


def _tidy(fields: CronFields, index: int) -> str:
    """Return a field in a spelling that cron-descriptor words correctly."""
    text = fields.texts[index]
    items = text.split(",")
    if "*" in items:
        return "*"
    if "/" not in text:
        return text
    start, _, step = text.partition("/")
    values = _numbers(fields)[index]
    single = len(items) == 1 and len(values) > 1
    if single and (start == "*" or _rises(start)):
        return text
    if single and index in (0, 1, 2):
        return f"{start}/{step}"
    return ",".join([*map(str, sorted(values)), *filter(_is_special, items)])


def _rises(span: str) -> bool:
    """Return whether it is a rising range: a step over it is then described correctly."""
    low, dash, high = span.partition("-")
    return bool(dash) and int(low) < int(high)


def _is_special(item: str) -> bool:
    return any(mark in item for mark in "LW#")


def _numbers(fields: CronFields) -> tuple[tuple[int, ...], ...]:
    return (
        fields.seconds,
        fields.minutes,
        fields.hours,
        tuple(fields.days),
        fields.months,
        tuple(fields.weekdays),
    )


def _words(texts: tuple[str, ...], part: DescriptionTypeEnum) -> str:
    options = Options()
    options.use_24hour_time_format = True
    # The language of the product, not the server's locale.
    options.locale_code = "en_US"
    descriptor = ExpressionDescriptor(" ".join(texts), options)
    words = str(descriptor.get_description(part)).removeprefix(", ").removeprefix("only ")
    # Remove redundant ends: 'Every 5 minutes, every hour'.
    return words.removesuffix(", every hour").removesuffix(", every minute")


def _length(step: timedelta) -> str:
    seconds = step // timedelta(seconds=1)
    parts = []
    for name, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}{'s' if count > 1 else ''}")
    return parts[0].removeprefix("1 ") if len(parts) == 1 else " ".join(parts)


def _local(moment: datetime, zone: Zone) -> str:
    return moment.astimezone(zone.info).strftime("%Y-%m-%d %H:%M:%S")
