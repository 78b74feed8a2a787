"""Every change of every zone's clock from 2000 to 2037, against two independent oracles (A4).

``python -m bench.dst_corpus`` asks the product for the instants around each change, for every
expression and every pair of `dst_gap` and `dst_overlap`, and compares them with a walk through
the instants one by one (`tests.support.slow_cron`, which shares no code with the product) and
with cronsim, as far as that can express the case. Exit code 1 when anything is unexplained.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import metadata, resources
from itertools import pairwise, starmap
from typing import Any

from bench import command_line, cronsim_differences, report
from bench.cronsim_differences import NO_ANSWER, UNEXPLAINED, NoAnswer, Readings, explain
from tasks.schedules.cron import CronSpec
from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.spec import GAPS, OVERLAPS
from tasks.schedules.zones import find_zone, release
from tests.support.slow_cron import DAY, Walk, read

YEARS = (2000, 2037)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: How far before and after a change instants are compared, beyond the length of the change.
_BESIDE_SECONDS = 2 * 3600
#: With a seconds field: a walk second by second is sixty times as long.
_CLOSE_SECONDS = 600
_EXAMPLES = 5

#: Times that are meant once a day: at, inside, beside and across the usual gaps and overlaps.
FIXED = (
    "30 2 * * *",
    "0 2 * * *",
    "0 3 * * *",
    "15 1 * * *",
    "59 1 * * *",
    "45 1 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "59 23 * * *",
    "30 23 * * *",
    "0 8 * * *",
    "0,30 1,2 * * *",
    "0 1-4 * * *",
    "5 0,1,2,3,23 * * *",
    "0,15,30,45 0-23 * * *",
    "30 2 * * SUN",
    "30 1 * * 0,7",
    "0 0 * * SAT-MON",
    "30 0 * * FRI-MON",
    "30 2 * * 7L",
    "0 1 * * 0#1,0#2",
    "30 2 * MAR,APR,SEP-NOV SUN",
    "30 1 1-7 * 0",
    "10 2 25-31 3,10 *",
    "0 0 1 * *",
    "30 2 L * *",
    "0 2 LW * *",
    "30 1 15W * *",
    "30 2 L-1 * *",
    "0 12 30 12 *",
    "0 4 ? * ?",
    "@daily",
    "@weekly",
    "0 30 2 * * *",
    "15,45 59 0-2 * * *",
    "30 0 0 * * *",
)
#: Times that follow elapsed time: a wildcard or a step in second, minute or hour.
ELAPSED = (
    "* 2 * * *",
    "*/30 * * * *",
    "*/15 1-3 * * *",
    "0 * * * *",
    "7 */2 * * *",
    "0-30/10 2 * * *",
    "5/15 0-2 * * *",
    "0 1-5/2 * * *",
    "*/20 0,23 * * SUN",
    "30 */1 * * SAT,SUN",
    "0 */6 * * *",
    "*/10 0 1 * *",
    "@hourly",
    "*/20 30 1 * * *",
    "0 */10 1-3 * * *",
    "59 59 * * * *",
)
EXPRESSIONS = FIXED + ELAPSED
POLICIES: tuple[tuple[Any, Any], ...] = tuple((gap, over) for gap in GAPS for over in OVERLAPS)
#: The policies that are cronsim's.
CRONSIM = ("next_valid", "first")


@dataclass
class Result:
    """What was compared, and what differed."""

    zones: int = 0
    #: Of these, how many only repeat the file of another.
    links: int = 0
    transitions: int = 0
    #: Of these, how many belong to zones with a file of their own, and were compared.
    distinct: int = 0
    compared: int = 0
    #: Disagreements with the slow oracle: the product is wrong, or the oracle.
    wrong: list[str] = field(default_factory=list)
    compared_with_cronsim: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add what another process found."""
        self.distinct += other.distinct
        self.compared += other.compared
        self.wrong += other.wrong
        self.compared_with_cronsim += other.compared_with_cronsim
        self.classes += other.classes
        self.unexplained += other.unexplained


@dataclass(frozen=True)
class Expected:
    """What the oracles say about one expression around one change."""

    by_policy: dict[tuple[str, str], list[int]]
    #: None where cronsim cannot express it, else its instants and the class of a disagreement.
    cronsim: list[int] | None
    difference: str


def names() -> list[str]:
    """Return every IANA zone of the pinned package, canonical names and links."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return sorted(name for name in listed if name != "Factory")


def groups(wanted: Iterable[str]) -> list[list[str]]:
    """Return the names that have the same file, and so the same rules, together."""
    found: dict[bytes, list[str]] = {}
    for name in wanted:
        content = resources.files("tzdata.zoneinfo").joinpath(name).read_bytes()
        found.setdefault(hashlib.sha256(content).digest(), []).append(name)
    return list(found.values())


def changes(name: str, years: tuple[int, int]) -> list[int]:
    """Return the seconds since 1970 at which the zone's offset changes: first and last year.

    Walked day by day, then minute by minute where a day ends otherwise than it began; the
    nearest two changes since 2000 are a week apart.
    """
    low, high = (_second(datetime(year, 1, 1, tzinfo=UTC)) for year in (years[0], years[1] + 1))
    days = Walk(name, low, high, DAY)
    return [
        second
        for day, following in pairwise(zip(days.seconds, days.walls, strict=True))
        if following[1] - day[1] != DAY
        for second in _breaks(Walk(name, day[0], following[0], 60))
    ]


def _breaks(minutes: Walk) -> list[int]:
    walked = pairwise(zip(minutes.seconds, minutes.walls, strict=True))
    return [following[0] for minute, following in walked if following[1] - minute[1] != 60]


def compare(moment: int, zones: Iterable[str]) -> Result:
    """Compare the product with both oracles around a moment at which these zones change."""
    result = Result()
    known: dict[tuple[str, tuple[int, ...]], Expected] = {}
    for name in zones:
        result.distinct += 1
        window = _Window.around(name, moment)
        offsets = window.walk(60).offsets
        for expression in EXPRESSIONS:
            # What the oracles say depends on the local times alone.
            if (expression, offsets) not in known:
                known[expression, offsets] = _ask_oracles(window, expression)
            _judge(result, window, expression, known[expression, offsets])
    return result


@dataclass(frozen=True)
class _Window:
    zone: str
    moment: int
    #: How far the clocks jump, without a sign.
    shift: int
    #: Whether the local time before the change and the jump are whole hours.
    whole_hours: bool
    #: Whether the gap leaves out a midnight.
    no_midnight: bool

    @classmethod
    def around(cls, zone: str, moment: int) -> _Window:
        before, after = Walk(zone, moment - 60, moment, 60).walls
        shift = abs(after - before - 60)
        whole_hours = (before + 60) % 3600 == shift % 3600 == 0
        midnight = -(-(before + 60) // DAY) * DAY
        return cls(zone, moment, shift, whole_hours, before < midnight < after)

    def bounds(self, unit: int) -> tuple[int, int]:
        """Return between which seconds instants are compared."""
        beside = self.shift + (_CLOSE_SECONDS if unit == 1 else _BESIDE_SECONDS)
        return self.moment - beside, self.moment + beside

    def walk(self, unit: int) -> Walk:
        """Return the local times of the window and of what lies as far outside as it jumps."""
        return _walk(self.zone, *self.bounds(unit), self.shift + 60, unit)


@lru_cache(maxsize=16)
def _walk(zone: str, low: int, high: int, outside: int, unit: int) -> Walk:
    return Walk(zone, low - outside, high + outside, unit)


def _ask_oracles(window: _Window, expression: str) -> Expected:
    line = read(expression)
    low, high = window.bounds(line.unit)
    walk = window.walk(line.unit)
    wanted = walk.wanted(line)

    def inside(seconds: Iterable[int]) -> list[int]:
        return [second for second in seconds if low < second <= high]

    elapsed = inside(walk.elapsed(wanted))
    fixed = {policy: inside(walk.fixed(wanted, *policy)) for policy in POLICIES}
    by_policy = fixed if line.fixed else dict.fromkeys(POLICIES, elapsed)
    try:
        theirs = cronsim_differences.instants(expression, window.zone, low, high)
    except NoAnswer:
        return Expected(by_policy, [], NO_ANSWER)
    difference = ""
    if theirs is not None and theirs != by_policy[CRONSIM]:
        no_midnight = window.moment if window.no_midnight else None
        readings = Readings(fixed[CRONSIM], elapsed, window.whole_hours, no_midnight)
        difference = explain(expression, theirs, readings)
    return Expected(by_policy, theirs, difference)


def _judge(result: Result, window: _Window, expression: str, expected: Expected) -> None:
    low, high = window.bounds(read(expression).unit)
    place = f"{window.zone} {_text(window.moment)} {expression!r}"
    for policy in POLICIES:
        found = _product(window.zone, expression, policy, low, high)
        wanted = expected.by_policy[policy]
        result.compared += len(wanted)
        if found != wanted:
            text = f"{place} {policy}: {_texts(found)} instead of {_texts(wanted)}"
            result.wrong.append(text)
    if expected.cronsim is None:
        return
    result.compared_with_cronsim += len(expected.by_policy[CRONSIM])
    if expected.difference:
        result.classes[expected.difference] += 1
    if expected.difference == UNEXPLAINED:
        theirs, ours = expected.cronsim, expected.by_policy[CRONSIM]
        result.unexplained.append(f"{place}: cronsim {_texts(theirs)}, here {_texts(ours)}")


def _product(zone: str, expression: str, policy: tuple[Any, Any], low: int, high: int) -> list[int]:
    spec = CronSpec(parse_cron(expression), find_zone(zone), gap=policy[0], overlap=policy[1])
    after, until = EPOCH + timedelta(seconds=low), EPOCH + timedelta(seconds=high)
    return [_second(occurrence.at) for occurrence in spec.between(after, until, 100_000)]


def _rules(name: str) -> list[tuple[int, int]]:
    zone, found, second = find_zone(name), [], 0
    while second < _second(datetime(2100, 1, 1, tzinfo=UTC)):
        segment = zone.segment_at(second)
        found.append((segment.start, segment.offset))
        second = segment.end
    return found


def _second(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(seconds=1)


def _text(second: int) -> str:
    return (EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")


def _texts(seconds: list[int]) -> str:
    shown = ", ".join(_text(second)[5:] for second in seconds[:8])
    return f"[{shown}{', …' if len(seconds) > 8 else ''}]"


# --- the report ----------------------------------------------------------------------------


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.dst_corpus", description=__doc__)
    parser.add_argument("--zones", type=int, default=0, metavar="N", help="every so-manieth only")
    report.add_arguments(parser)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Compare all there is; 1 when anything is unexplained."""
    asked = options(arguments)
    listed = names()
    if asked.zones:
        listed = listed[:: max(1, len(listed) // asked.zones)]
    began = time.monotonic()
    result = compare_all(listed, asked.processes)
    seconds = round(time.monotonic() - began)
    figures = {
        **vars(result),
        "classes": dict(result.classes),
        "seconds": seconds,
        "tzdata": release(),
        "cronsim": metadata.version("cronsim"),
    }
    report.publish("dst-corpus", figures, [*lines(result), f"seconds: {seconds}"], asked)
    return 1 if result.wrong or result.unexplained else 0


def compare_all(
    wanted: Iterable[str], processes: int = 1, years: tuple[int, int] = YEARS
) -> Result:
    """Compare every change of these zones; names with the same file are asked once."""
    result = Result()
    by_moment: dict[int, list[str]] = {}
    for group in groups(wanted):
        result.zones += len(group)
        result.links += len(group) - 1
        result.wrong += [
            f"{name} has other rules than {group[0]}, whose file is the same"
            for name in group[1:]
            if _rules(name) != _rules(group[0])
        ]
        moments = changes(group[0], years)
        result.transitions += len(moments) * len(group)
        for moment in moments:
            by_moment.setdefault(moment, []).append(group[0])
    for found in _compared(sorted(by_moment.items()), processes):
        result.add(found)
    return result


def _compared(jobs: list[tuple[int, list[str]]], processes: int) -> Iterator[Result]:
    if processes <= 1:
        yield from starmap(compare, jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        moments, zones = [job[0] for job in jobs], [job[1] for job in jobs]
        yield from pool.map(compare, moments, zones, chunksize=8)


def lines(result: Result) -> list[str]:
    """Return the figures for people."""
    return [
        f"zones: {result.zones}, of which {result.links} repeat another's file",
        f"transitions: {result.transitions}, {result.distinct} of them without those that repeat",
        f"expressions: {len(EXPRESSIONS)}, each under {len(POLICIES)} policies",
        f"instants compared with the slow oracle: {result.compared}",
        f"disagreements with the slow oracle: {len(result.wrong)}",
        *(f"  {text}" for text in result.wrong[:_EXAMPLES]),
        f"instants compared with cronsim: {result.compared_with_cronsim}",
        f"disagreements with cronsim: {sum(result.classes.values())}",
        *(f"  {count:7} {name}" for name, count in sorted(result.classes.items())),
        f"unexplained: {len(result.wrong) + len(result.unexplained)}",
        *(f"  {text}" for text in result.unexplained[:_EXAMPLES]),
    ]


if __name__ == "__main__":
    command_line.run(main)
