"""The n-th working day of each month, as the dates of a cron expression."""

from __future__ import annotations

import calendar
from datetime import date
from functools import lru_cache

from tasks.schedules.cron_parse import CronFields
from tasks.schedules.cron_terms import NeverFires
from tasks.schedules.days_off import DaysOff, day_number

#: A local time may be up to a day past the last instant of the calendar.
_LAST_YEAR = 2200
#: Any 28 years without a skipped leap year hold every kind of year there is.
_EVERY_KIND_OF_YEAR = range(2001, 2029)
_FIRST_DAY = date(1970, 1, 1).toordinal()


class WorkingDays:
    """Answers on which day the n-th working day of a month falls; -1 is the last.

    A month with fewer working days has none.
    """

    def __init__(self, months: tuple[int, ...], which: int, days_off: DaysOff) -> None:
        self._months = months
        self.which = which
        self._days_off = days_off
        self._known: dict[tuple[int, int], int | None] = {}

    def next(self, day: int) -> int | None:
        """Return the first such day at or after this one; None past 2200."""
        start = date.fromordinal(_FIRST_DAY + day)
        for year in range(start.year, _LAST_YEAR + 1):
            for month in self._months:
                if (year, month) < (start.year, start.month):
                    continue
                found = self._in_month(year, month)
                if found is not None and found >= day:
                    return found
        return None

    def check_fires(self) -> None:
        """Raise NeverFires when no month has that working day."""
        months = ((year, month) for year in _EVERY_KIND_OF_YEAR for month in self._months)
        if all(self._in_month(*month) is None for month in months):
            raise NeverFires(
                f"No month has a working day number {self.which}, so this never runs. Use a "
                "smaller number, or -1 for the last."
            )

    def _in_month(self, year: int, month: int) -> int | None:
        if (year, month) not in self._known:
            self._known[year, month] = self._find(year, month)
        return self._known[year, month]

    def _find(self, year: int, month: int) -> int | None:
        first = day_number(date(year, month, 1))
        length = calendar.monthrange(year, month)[1]
        working = [day for day in range(first, first + length) if self._days_off.working(day)]
        place = self.which - 1 if self.which > 0 else self.which
        return working[place] if -len(working) <= place < len(working) else None


@lru_cache(maxsize=1024)
def working_days(months: tuple[int, ...], which: int, days_off: DaysOff) -> WorkingDays:
    """Return the dates, which are shared and remembered. Raise NeverFires when there are none."""
    found = WorkingDays(months, which, days_off)
    found.check_fires()
    return found


def date_problem(fields: CronFields) -> str:
    """Return why an expression cannot have a working day beside it, or nothing."""
    if fields.texts[3] == "*" and fields.texts[5] == "*":
        return ""
    return (
        "With working_day, the day-of-month and day-of-week fields must be '*': the working day "
        "sets the day."
    )
