"""Times of day to the first fields of a cron expression, which holds only some sets of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks.plain_times.vocabulary import Clock, PlainTimeError


@dataclass(slots=True)
class TimesOfDay:
    """Times of day, or minutes of each hour, or minutes of the hours of whole times."""

    clocks: set[Clock] = field(default_factory=set)
    minutes_past: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.clocks or self.minutes_past)

    def cron(self, every_hours: int = 1) -> str:
        """Return the fields from second (where one is needed) to hour; raise PlainTimeError.

        Minutes past the hour are those of every ``every_hours``-th hour.
        """
        if self.minutes_past:
            return self._of_minutes(every_hours)
        hours = sorted({clock.hour for clock in self.clocks})
        minutes = sorted({clock.minute for clock in self.clocks})
        seconds = sorted({clock.second for clock in self.clocks})
        if len(self.clocks) != len(hours) * len(minutes) * len(seconds):
            shown = " and ".join(str(clock) for clock in sorted(self.clocks))
            raise PlainTimeError(
                f"One schedule cannot hold {shown}: its times share their minutes. Make two tasks."
            )
        fields = f"{_listed(minutes)} {_listed(hours)}"
        return fields if seconds == [0] else f"{_listed(seconds)} {fields}"

    def _of_minutes(self, every_hours: int) -> str:
        if any(clock.minute or clock.second for clock in self.clocks):
            raise PlainTimeError("Give minutes past the hour, or times of day, not both.")
        hours = sorted({clock.hour for clock in self.clocks})
        each = "*" if every_hours == 1 else f"*/{every_hours}"
        return f"{_listed(self.minutes_past)} {_listed(hours) or each}"


def _listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
