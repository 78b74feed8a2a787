"""How many next instants one core computes, and what a preview of a thousand costs (A2, A9).

``python -m bench.schedules`` asks as the scheduler does in each pass: it reads the stored
schedule and asks for the instant after the last. Cold, every expression is a new one; cached,
the same tasks come again. croniter and cronsim are asked in the same run; the factor behind their
figures is how many times as fast the product is.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from bench import command_line, report
from tasks.schedules.spec import parse

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TARGET_PER_SECOND = 10_000
PREVIEW_COUNT, PREVIEW_TARGET_MS = 1000, 50.0
#: Turns of each library, and the lines of one: together all that are different.
_ROUNDS, _LINES = 24, 60

Task = tuple[str, dict[str, Any]]

#: Expression and zone; "{m}" and "{h}" differ from task to task.
MIXED = (
    ("{m} {h} * * *", "Europe/Berlin"),
    ("{m} {h} * * MON-FRI", "America/New_York"),
    ("{m} {h} 1 * *", "UTC"),
    ("{m} {h} L * *", "Asia/Tokyo"),
    ("{m} {h} * * FRI#2", "Europe/London"),
    ("{m} {h} 1,15 * *", "Australia/Lord_Howe"),
    ("{m},{n} * * * *", "Asia/Kolkata"),
    ("{m}-59/5 * * * *", "UTC"),
    ("{m} */6 * * *", "America/Sao_Paulo"),
    ("{n} {m} {h} * * *", "Africa/Casablanca"),
)
#: Asked of the product alone: the others do not know these terms, or hash otherwise.
OWN = (
    ("H H * * *", "Europe/Berlin"),
    ("H/15 * * * *", "UTC"),
    ("H H(0-5) LW * *", "UTC"),
    ("{m} {h} L-2,15W * *", "Europe/Paris"),
)
RATES = ("PT1S", "PT5M", "P1D")
PREVIEWS = (
    "* * * * *",
    "0 8 * * *",
    "0 0 29 2 *",
    "0 0 29 2 */7",
    "0 0 31 12 5#5",
    "0 0 * * 5L",
    "0 0 LW * *",
    "30 2 * 3,10 0",
    "*/10 * * * * *",
)


def tasks(count: int) -> list[Task]:
    """Return ``count`` different recurring schedules, of every kind in turn, with their seeds."""
    found: list[Task] = []
    for number in range(count):
        values = {"m": number % 60, "n": number * 7 % 60, "h": number // 60 % 24}
        kinds: list[dict[str, Any]] = [
            {"cron_expression": text.format(**values), "timezone": zone}
            for text, zone in (*MIXED, *OWN)
        ]
        kinds += [{"every": text, "start_at": "2020-01-01T00:00:00.000Z"} for text in RATES]
        found.append((f"task-{number}", kinds[number % len(kinds)]))
    return found


def per_second(asked: Sequence[Any], ask: Callable[[Any], object]) -> float:
    """Return how many of these are answered in a second."""
    began = time.perf_counter()
    for one in asked:
        ask(one)
    return len(asked) / (time.perf_counter() - began)


def ask_product(task: Task) -> object:
    """Read a task's schedule and compute its next instant, as a pass of the scheduler does."""
    seed, schedule = task
    return parse("RECURRING", schedule, seed=seed, anchor=NOW).next_after(NOW)


@dataclass(frozen=True, slots=True)
class Library:
    """How to read a cron line in a zone, and how to ask what was read for its next instant."""

    name: str
    read: Callable[[str, str], Any]
    step: Callable[[Any], object]


class _Cursor:
    """The product's schedule as an iterator, like the other libraries' objects."""

    def __init__(self, expression: str, zone: str) -> None:
        schedule = {"cron_expression": expression, "timezone": zone}
        self._spec = parse("RECURRING", schedule, anchor=NOW)
        self._at = NOW

    def step(self) -> object:
        following = self._spec.next_after(self._at)
        if following is not None:
            self._at = following.at
        return following


def _local(zone: str) -> datetime:
    return NOW.astimezone(ZoneInfo(zone))


LIBRARIES = (
    Library("punctual", _Cursor, lambda made: made.step()),
    Library(
        "croniter",
        lambda text, zone: croniter(text, _local(zone), second_at_beginning=True),
        lambda made: made.get_next(datetime),
    ),
    Library("cronsim", lambda text, zone: CronSim(text, _local(zone)), next),
)


def lines(numbers: Iterable[int]) -> list[tuple[str, str]]:
    """Return cron lines that all three libraries understand; 1440 numbers are different ones."""
    return [
        (text.format(m=number % 60, n=number * 7 % 60, h=number // 60 % 24), zone)
        for number in numbers
        for text, zone in (MIXED[number % len(MIXED)],)
    ]


def measure_rates(count: int) -> dict[str, float]:
    """Return how many next instants a second a pass of the scheduler computes."""
    asked = tasks(count)
    # What a zone costs is paid once in the life of a process.
    for one in asked[:64]:
        ask_product(one)
    found = {
        "cold": per_second(asked[64:], ask_product),
        "cached": per_second(asked[-4000:], ask_product),
    }
    return {name: round(value, 1) for name, value in found.items()}


def measure_libraries() -> dict[str, dict[str, float]]:
    """Return reads with a first instant, and further instants, a second, by library.

    The libraries take turns, each round with lines of its own; the medians count.
    """
    turns: dict[str, list[dict[str, float]]] = {library.name: [] for library in LIBRARIES}
    for begin in range(0, _ROUNDS * _LINES, _LINES):
        asked = lines(range(begin, begin + _LINES))
        for library in LIBRARIES:
            turns[library.name].append(_turn(library, asked))
    return {
        name: {what: round(median(turn[what] for turn in found), 1) for what in found[0]}
        for name, found in turns.items()
    }


def _turn(library: Library, asked: Sequence[tuple[str, str]]) -> dict[str, float]:
    made: list[Any] = []

    def read(line: tuple[str, str]) -> object:
        made.append(library.read(*line))
        return library.step(made[-1])

    return {
        "read_and_first": per_second(asked, read),
        "next": per_second(made * 3, library.step),
    }


def measure_previews() -> dict[str, float]:
    """Return the milliseconds of a preview of a thousand instants, by expression; best of three."""
    from tasks.preview import preview

    found = {}
    for expression in PREVIEWS:
        schedule = {"cron_expression": expression, "timezone": "America/New_York"}
        body = {"schedule": schedule, "count": PREVIEW_COUNT}
        taken: list[float] = []
        for _ in range(3):
            began = time.perf_counter()
            preview(body, now=NOW + timedelta(minutes=len(taken)))
            taken.append((time.perf_counter() - began) * 1000)
        found[expression] = round(min(taken), 2)
    return found


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.schedules", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000, help="different ones (20000)")
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Measure; 1 when a target is missed."""
    asked = options(arguments)
    _set_up()
    rates, previews = measure_rates(asked.schedules), measure_previews()
    libraries = measure_libraries()
    slowest = max(previews.values())
    figures = {"next_per_second": rates, "libraries": libraries, "preview_ms": previews}
    kept = min(rates["cold"], rates["cached"]) >= TARGET_PER_SECOND
    kept = kept and slowest <= PREVIEW_TARGET_MS
    shown = [
        f"next instants a second: {rates['cold']:,.0f} cold, {rates['cached']:,.0f} cached "
        f"(target {TARGET_PER_SECOND:,})",
        "cron lines that all understand, a second:",
        *(_library_line(name, libraries) for name in libraries),
        f"preview of {PREVIEW_COUNT} instants (target {PREVIEW_TARGET_MS:g} ms):",
        *(f"  {value:8.2f} ms  {expression}" for expression, value in previews.items()),
        f"kept: {'yes' if kept else 'no'}",
    ]
    report.publish("schedules", {**figures, "kept": kept}, shown, asked)
    return 0 if kept else 1


def _library_line(name: str, found: dict[str, dict[str, float]]) -> str:
    ours, theirs = found["punctual"], found[name]
    parts = (
        f"{word.replace('_', ' ')} {theirs[word]:>9,.0f} (x{ours[word] / theirs[word]:.1f})"
        for word in ours
    )
    return f"  {name:9} {', '.join(parts)}"


def _set_up() -> None:
    import django

    # A preview reads limits from the settings; no server is asked.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings_test")
    django.setup()


if __name__ == "__main__":
    command_line.run(main)
