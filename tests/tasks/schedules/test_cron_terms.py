from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field

from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.cron_terms import FIELDS, CronProblem, quote, read
from tests.support import slow_cron

SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY = FIELDS


def values(field, text, seed=""):
    return list(read(field, text, 1, seed).values)


@pytest.mark.parametrize("field", FIELDS[:5], ids=lambda f: f.name)
def test_every_range_with_every_step_expands_as_counted_by_hand(field):
    for low, high in itertools.combinations_with_replacement(range(field.low, field.high + 1), 2):
        for step in (1, 2, 3, 7, 40):
            text = f"{low}-{high}/{step}"
            expected = slow_cron.expand(text, field.low, field.high)
            assert values(field, text) == expected, text


def test_every_range_of_weekdays_expands_with_seven_as_sunday():
    for low, high, step in itertools.product(range(8), range(8), (1, 2, 3, 5)):
        last = high if low <= high else high + 7
        expected = sorted({day % 7 for day in range(low, last + 1, step)})
        assert values(WEEKDAY, f"{low}-{high}/{step}") == expected, (low, high, step)


def test_every_range_of_months_may_pass_the_end_of_the_year():
    for low, high, step in itertools.product(range(1, 13), range(1, 13), (1, 2, 3, 5, 7)):
        last = high if low <= high else high + 12
        expected = sorted({(month - 1) % 12 + 1 for month in range(low, last + 1, step)})
        assert values(MONTH, f"{low}-{high}/{step}") == expected, (low, high, step)


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        (MINUTE, "4-4", [4]),
        (MINUTE, "4-4/2", [4]),
        (MINUTE, "59/15", [59]),
        (MINUTE, "5/15", [5, 20, 35, 50]),
        (MINUTE, "*/90", [0]),
        (MINUTE, "*/20", [0, 20, 40]),
        (HOUR, "*", list(range(24))),
        (MONTH, "jan", [1]),
        (MONTH, "Nov-Feb", [1, 2, 11, 12]),
        (MONTH, "DEC-DEC", [12]),
        (MONTH, "DEC-12", [12]),
        (WEEKDAY, "FRI-MON", [0, 1, 5, 6]),
        (WEEKDAY, "SAT-SUN", [0, 6]),
        (WEEKDAY, "THU-MON/2", [1, 4, 6]),
        (MONTH, "APR-FEB/2", [2, 4, 6, 8, 10, 12]),
        # A value with a step goes on to the end of its field, which for weekdays is Saturday.
        (WEEKDAY, "5/2", [5]),
        (WEEKDAY, "7/2", [0, 2, 4, 6]),
        (WEEKDAY, "6-7", [0, 6]),
        (WEEKDAY, "7", [0]),
        (WEEKDAY, "7-0", [0]),
        (WEEKDAY, "0-7", [0, 1, 2, 3, 4, 5, 6]),
        (WEEKDAY, "MON-FRI/2", [1, 3, 5]),
        (DAY, "?", list(range(1, 32))),
        (WEEKDAY, "?", list(range(7))),
    ],
)
def test_plain_items_expand(field, text, expected):
    assert values(field, text) == expected


@pytest.mark.parametrize(
    ("field", "text", "attribute", "expected"),
    [
        (DAY, "L", "before_last", 0),
        (DAY, "l-3", "before_last", 3),
        (DAY, "15W", "nearest_to", 15),
        (DAY, "W1", "nearest_to", 1),
        (DAY, "LW", "last_workday", True),
        (DAY, "WL", "last_workday", True),
        (WEEKDAY, "5L", "nth_weekday", (5, 0)),
        (WEEKDAY, "L5", "nth_weekday", (5, 0)),
        (WEEKDAY, "friL", "nth_weekday", (5, 0)),
        (WEEKDAY, "7L", "nth_weekday", (0, 0)),
        (WEEKDAY, "2#3", "nth_weekday", (2, 3)),
        (WEEKDAY, "SUN#1", "nth_weekday", (0, 1)),
    ],
)
def test_special_items_are_understood(field, text, attribute, expected):
    term = read(field, text, 1, "")

    assert getattr(term, attribute) == expected
    assert term.values == ()


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        (MINUTE, "60", "Minute field, position 7: '60' is above 59. Use 0-59."),
        (DAY, "0", "Day-of-month field, position 7: '0' is below 1. Use 1-31."),
        (MONTH, "13", "Month field, position 7: '13' is above 12. Use 1-12 or JAN-DEC."),
        (HOUR, "22-2", "Hour field, position 7: the range 22-2 runs backwards. Write 22-23,0-2."),
        (MINUTE, "*/0", "the step '0' is not 1 or more"),
        (MINUTE, "*/99999", "the step '99999' is not 1 or more"),
        (MINUTE, "9" * 400, "'99999999999999999999…' is above 59"),
        (MINUTE, "*-5", "is not understood"),
        (MINUTE, "*5", "is not understood"),
        (MINUTE, "1-2-3", "is not understood"),
        (MINUTE, "-5", "is not understood"),
        (MINUTE, "5-", "is not understood"),
        (MINUTE, "MON", "'MON' is not understood"),
        (MINUTE, "L", "'L' is not understood"),
        (MINUTE, "?", "'?' is for the day fields"),
        (MONTH, "FOO", "'FOO' is not understood"),
        (DAY, "32W", "'32' is above 31"),
        (DAY, "L-31", "no month has 31 days before its last"),
        (DAY, "5L", "is not understood"),
        (WEEKDAY, "L", "'L' needs a weekday here"),
        (WEEKDAY, "2#6", "at most five times in a month, not '6'"),
        (WEEKDAY, "2#0", "at most five times"),
        (WEEKDAY, "2#11", "at most five times"),
        (WEEKDAY, "8#1", "'8' is above 7"),
        (WEEKDAY, "XYZL", "'XYZ' is not understood"),
        (WEEKDAY, "1-5#1", "is not understood"),
        (MINUTE, "H(5-1)", "the hash range 5-1 is not a rising range"),
        (MINUTE, "H(0-99)", "the hash range 0-99"),
        (MINUTE, "H/0", "the step '0' is not 1 or more"),
    ],
)
def test_a_wrong_item_is_refused_with_field_position_reason_and_remedy(field, text, words):
    with pytest.raises(CronProblem) as caught:
        read(field, text, 7, "")

    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{field.name.capitalize()} field, position 7: ")


def test_a_hash_is_stable_per_seed_and_spread_over_seeds():
    drawn = [values(MINUTE, "H", seed=f"task-{n}") for n in range(2000)]

    assert drawn[0] == values(MINUTE, "H", seed="task-0")
    counts = [drawn.count([minute]) for minute in range(60)]
    assert min(counts) > 10
    assert max(counts) < 70


def test_hashes_of_two_fields_are_independent():
    pairs = {
        (*values(MINUTE, "H", seed=str(n)), *values(HOUR, "H", seed=str(n))) for n in range(4000)
    }

    # 1,440 pairs; croniter's hash reaches far fewer, since it shifts one number.
    assert len(pairs) > 1200


def test_a_hashed_day_is_in_every_month():
    assert {values(DAY, "H", seed=str(n))[0] for n in range(800)} == set(range(1, 29))


@pytest.mark.parametrize("seed", ["", "a", "b", "c", "ü", "\ud800"])
def test_hash_ranges_and_steps_stay_in_their_bounds(seed):
    (minute,) = values(MINUTE, "H(0-29)", seed)
    quarter = values(MINUTE, "H/15", seed)
    within = values(MINUTE, "H(30-59)/10", seed)

    assert 0 <= minute <= 29
    assert len(quarter) == 4
    assert quarter == list(range(quarter[0], 60, 15))
    assert 30 <= within[0] <= 39
    assert within == list(range(within[0], 60, 10))


@pytest.mark.parametrize(
    ("text", "recurs"),
    [
        *[("5", False), ("1-5", False), ("H", False), ("H(1-5)", False), ("4-4/2", True)],
        *[("*", True), ("*/5", True), ("1-9/2", True), ("H/15", True), ("H(0-29)/10", True)],
        *[("H/60", True), ("H(5-5)/3", True)],
    ],
)
def test_wildcards_and_steps_are_told_from_fixed_values(text, recurs):
    assert read(MINUTE, text, 1, "seed").recurs is recurs


def test_long_quotes_are_shortened():
    assert quote("abc") == "'abc'"
    assert len(quote("x" * 100)) == 23


# --- the whole dialect against cronsim, item by item -------------------------------------------

#: Where this dialect takes more than cronsim, or reads something else; docs/reference/schedules.md.
WIDER = re.compile(
    r".*\?.*|h.*|.*w.*|l-.*|l\d+|l[a-z]{3}|[a-z]{3}l|.*#0\d|.*/0*\d{4,}|\d{5,}", re.IGNORECASE
)


def dialect() -> Iterator[tuple[int, str]]:
    """Yield every shape of an item for each field, with values at and beyond its bounds."""
    for index, cron_field in enumerate(FIELDS):
        low, high = cron_field.low, cron_field.high
        names = [name for word in cron_field.names for name in (word, word.lower(), word.title())]
        values = [*map(str, sorted({0, low, low + 1, (low + high) // 2, high - 1, high, high + 1}))]
        words = [*values, *names[:6], *names[-3:], "07", "x", "1x", "JANUARY"]
        spans = [f"{first}-{last}" for first in words for last in words]
        bases = [*words, *spans, "*"]
        steps = [
            f"{base}/{step}" for base in bases for step in ("1", "2", "7", "60", "0", "-1", "", "x")
        ]
        nth = [f"{word}#{which}" for word in words for which in ("0", "1", "5", "6", "", "x")]
        last = [
            *(f"{word}L" for word in words),
            "L",
            "LW",
            "l",
            "lw",
            "WL",
            "L-3",
            "L/2",
            "15W",
            "?",
        ]
        lists = [
            f"{one},{other}" for one in (*words[:4], "*", "*/7") for other in (*spans[:9], "*")
        ]
        odd = [
            "*-5",
            "5-*",
            "**",
            "*5",
            "-",
            "/",
            "#",
            "1-2-3",
            "1/2/3",
            "1--2",
            "+5",
            "5.0",
            "1,,2",
        ]
        yield from ((index, item) for item in [*bases, *steps, *nth, *last, *lists, *odd])


def test_each_item_of_the_dialect_means_what_cronsim_says():
    compared = 0
    differing = set()
    for index, item in dialect():
        theirs = _cronsim(index, item)
        ours = _ours(index, item)
        compared += 1
        if ours != theirs and not WIDER.fullmatch(item) and not _known(index, item, ours, theirs):
            differing.add((FIELDS[index].name, item))

    assert compared > 5000
    assert differing == set()


def _ours(index: int, item: str) -> Any:
    fields = ["0", "0", "0", "1", "1", "0"]
    fields[index] = item
    try:
        found = parse_cron(" ".join(fields))
    except CronProblem:
        return None
    plain = (
        found.seconds, found.minutes, found.hours, found.days, found.months, found.weekdays
    )[index]  # fmt: skip
    special: set[Any] = set(found.nth_weekdays) if index == 5 else set()
    if index == 3:
        special |= {"L"} if found.days_before_last else set()
        special |= {"LW"} if found.last_workday else set()
    return set(plain) | special


def _cronsim(index: int, item: str) -> Any:
    if not item or " " in item:
        return None
    try:
        found = Field(index).parse(item.upper())
    except CronSimError:
        return None
    specials: dict[Any, Any] = {CronSim.LAST: "L", CronSim.LAST_WEEKDAY: "LW"}
    if index == 5:
        return {
            (day[0] % 7, max(day[1], 0)) if isinstance(day, tuple) else day % 7 for day in found
        }
    return {specials.get(value, value) for value in found}


def _known(index: int, item: str, ours: Any, theirs: Any) -> bool:
    """Return whether a difference is one that the reference tells of."""
    span = re.fullmatch(r"([^-/,]+)-([^-/,]+)(/\d+)?", item)
    if theirs is None and ours is not None and FIELDS[index].names and span:
        return True  # weekdays and months may pass the end of the week or year
    if span and span[3] and ours is not None and len(ours) == 1:
        return True  # a range of one value with a step is that value, as for cron itself
    if index == 5 and span and span[2] == "7":
        return True  # 5-7 ends with Sunday; cronsim counts 0 and 7 apart in steps
    if index == 5 and re.fullmatch(r"\w+/\d+", item) and ours is not None:
        return bool(theirs - ours <= {0})  # a step from a value ends with Saturday, not with 7
    return item.upper() in ("L/2", "07L")  # cronsim drops the step, and takes two digits
