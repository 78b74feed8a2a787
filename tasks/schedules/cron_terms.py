"""One item of one cron field (`5`, `MON-FRI`, `*/10`, `15W`, `2#3`, `H(0-29)/10`) to numbers.

Called by `cron_parse` only. Knows each field's bounds and names, and words every error.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache

from croniter import croniter

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_CASELESS = re.ASCII | re.IGNORECASE
_HASH = re.compile(r"H(?:\((\d{1,4})-(\d{1,4})\))?(?:/(\d{1,4}))?", _CASELESS)
_PLAIN = re.compile(
    r"(?P<low>\*|[A-Z]+|\d+)(?:-(?P<high>[A-Z]+|\d+))?(?:/(?P<step>\d+))?", _CASELESS
)
_NEAREST = re.compile(r"(\d{1,2})W|W(\d{1,2})", _CASELESS)
_BEFORE_LAST = re.compile(r"L(?:-(\d{1,2}))?", _CASELESS)
_LAST_WEEKDAY = re.compile(r"([A-Z]{3}|\d)L|L([A-Z]{3}|\d)", _CASELESS)
_NTH_WEEKDAY = re.compile(r"([A-Z]+|\d+)#(\d+)", _CASELESS)


class CronProblem(ValueError):
    """The cron expression is not valid; the text says where, why and what to write instead."""

    code = "cron_invalid"


class NeverFires(CronProblem):
    """The cron expression is well formed, but no date matches it."""

    code = "cron_never_fires"


@dataclass(frozen=True, slots=True, eq=False)
class CronField:
    """One field: its name, croniter's index for it, its bounds, names and hash bounds."""

    name: str
    index: int
    low: int
    high: int
    hash_high: int
    names: dict[str, int] = field(default_factory=dict)

    #: Weekday and month ranges may pass the end of the week or year (FRI-MON, NOV-FEB).
    @property
    def cyclic(self) -> bool:
        return bool(self.names)

    def problem(self, position: int, why: str, remedy: str = "") -> CronProblem:
        return CronProblem(
            f"{self.name.capitalize()} field, position {position}: {why}. {remedy}".strip()
        )

    def range_text(self) -> str:
        names = f" or {next(iter(self.names))}-{list(self.names)[-1]}" if self.names else ""
        return f"{self.low}-{self.high}{names}"


FIELDS = (
    CronField("second", 5, 0, 59, 59),
    CronField("minute", 0, 0, 59, 59),
    CronField("hour", 1, 0, 23, 23),
    # A hashed day stays within 28, so that no month is left out.
    CronField("day-of-month", 2, 1, 31, 28),
    CronField("month", 3, 1, 12, 12, {name: i + 1 for i, name in enumerate(_MONTHS)}),
    CronField("day-of-week", 4, 0, 7, 6, {name: i for i, name in enumerate(_WEEKDAYS)}),
)
_DAY, _WEEKDAY = FIELDS[3], FIELDS[5]


@dataclass(frozen=True, slots=True)
class Term:
    """The meaning of one item; `text` is the item with its hash resolved."""

    text: str
    values: tuple[int, ...] = ()
    recurs: bool = False
    before_last: int | None = None
    nearest_to: int | None = None
    last_workday: bool = False
    nth_weekday: tuple[int, int] | None = None


def read(cron_field: CronField, item: str, position: int, seed: str) -> Term:
    """Read one item; raise CronProblem when it is not valid in this field."""
    text = item
    hashed = _HASH.fullmatch(text)
    if hashed:
        text = _resolve_hash(cron_field, hashed, position, seed)
    if text == "?":
        return _question_mark(cron_field, position)
    special = None
    if cron_field is _DAY:
        special = _read_day(text, position)
    elif cron_field is _WEEKDAY:
        special = _read_weekday(text, position)
    term = special or _read_plain(cron_field, text, position)
    # H/30 may resolve to one value, but it is a step.
    return Term(term.text, term.values, True) if hashed and hashed[3] else term


def quote(text: str) -> str:
    """Show what a person wrote, shortened."""
    return f"'{text}'" if len(text) <= 20 else f"'{text[:20]}…'"


def _resolve_hash(cron_field: CronField, match: re.Match[str], position: int, seed: str) -> str:
    low, high = cron_field.low, cron_field.hash_high
    if match[1]:
        low, high = int(match[1]), int(match[2])
        if not cron_field.low <= low <= high <= cron_field.high:
            raise cron_field.problem(
                position,
                f"the hash range {low}-{high} is not a rising range within the field",
                f"Stay within {cron_field.range_text()}.",
            )
    step = _step(cron_field, match[3], position) if match[3] else 0
    digest = hashlib.sha256(f"{cron_field.name}:{seed}".encode("utf-8", "surrogatepass")).digest()
    width = min(step, high - low + 1) if step else high - low + 1
    value = low + int.from_bytes(digest[:8], "big") % width
    return f"{value}-{high}/{step}" if step and value < high else str(value)


def _question_mark(cron_field: CronField, position: int) -> Term:
    if cron_field not in (_DAY, _WEEKDAY):
        raise cron_field.problem(position, "'?' is for the day fields", "Use '*'.")
    return _read_plain(cron_field, "*", position)


def _read_day(text: str, position: int) -> Term | None:
    if text.upper() in ("LW", "WL"):
        return Term("LW", last_workday=True)
    last = _BEFORE_LAST.fullmatch(text)
    if last:
        offset = int(last[1] or 0)
        if offset > 30:
            raise _DAY.problem(
                position, f"no month has {offset} days before its last", "Use L-0 to L-30."
            )
        return Term(text.upper(), before_last=offset)
    nearest = _NEAREST.fullmatch(text)
    if nearest:
        day = _number(_DAY, nearest[1] or nearest[2], position)
        return Term(f"{day}W", nearest_to=day)
    return None


def _read_weekday(text: str, position: int) -> Term | None:
    nth = _NTH_WEEKDAY.fullmatch(text)
    if nth:
        which = int(nth[2]) if len(nth[2]) == 1 else 0
        if not 1 <= which <= 5:
            raise _WEEKDAY.problem(
                position,
                f"a weekday comes at most five times in a month, not {quote(nth[2])}",
                "Use #1 to #5.",
            )
        weekday = _number(_WEEKDAY, nth[1], position) % 7
        return Term(f"{weekday}#{which}", nth_weekday=(weekday, which))
    last = _LAST_WEEKDAY.fullmatch(text)
    if last:
        weekday = _number(_WEEKDAY, last[1] or last[2], position) % 7
        return Term(f"{weekday}L", nth_weekday=(weekday, 0))
    if text.upper() == "L":
        raise _WEEKDAY.problem(
            position, "'L' needs a weekday here", "Write 5L for the last Friday of the month."
        )
    return None


def _read_plain(cron_field: CronField, text: str, position: int) -> Term:
    match = _PLAIN.fullmatch(text)
    if not match or (match["low"] == "*" and match["high"]):
        raise cron_field.problem(
            position,
            f"{quote(text)} is not understood",
            f"Use {cron_field.range_text()}, '*', a list, a range or a step.",
        )
    step = f"/{_step(cron_field, match['step'], position)}" if match["step"] else ""
    bounds = "*" if match["low"] == "*" else _bounds(cron_field, match, position)
    one_value = bool(match["high"]) and bounds.isdigit()
    plain = bounds if one_value else bounds + step
    return Term(plain, _expand(cron_field, plain), recurs=bounds == "*" or bool(step))


def _bounds(cron_field: CronField, match: re.Match[str], position: int) -> str:
    low = _number(cron_field, match["low"], position)
    if not match["high"]:
        return str(low)
    high = _number(cron_field, match["high"], position)
    if high < low and not cron_field.cyclic:
        raise cron_field.problem(
            position,
            f"the range {low}-{high} runs backwards",
            f"Write {low}-{cron_field.high},{cron_field.low}-{high}.",
        )
    # croniter reads 4-4 as the whole field; a range from a value to itself is that value.
    if low == high or (cron_field is _WEEKDAY and (low, high) == (7, 0)):
        return str(low)
    return f"{low}-{high}"


def _number(cron_field: CronField, text: str, position: int) -> int:
    if text.upper() in cron_field.names:
        return cron_field.names[text.upper()]
    if not text.isdigit():
        raise cron_field.problem(
            position, f"{quote(text)} is not understood", f"Use {cron_field.range_text()}."
        )
    value = int(text) if len(text) <= 4 else 10_000
    if not cron_field.low <= value <= cron_field.high:
        side = "below" if value < cron_field.low else "above"
        bound = cron_field.low if value < cron_field.low else cron_field.high
        raise cron_field.problem(
            position, f"{quote(text)} is {side} {bound}", f"Use {cron_field.range_text()}."
        )
    return value


def _step(cron_field: CronField, text: str, position: int) -> int:
    if not 1 <= int(text[:6]) <= 9999:
        raise cron_field.problem(
            position, f"the step {quote(text)} is not 1 or more", "Use a step such as */5."
        )
    return int(text)


@lru_cache(maxsize=4096)
def _expand(cron_field: CronField, text: str) -> tuple[int, ...]:
    wrapped = _wrapped(cron_field, text)
    if wrapped:
        return wrapped
    parts = ["*"] * 6
    parts[cron_field.index] = text
    values = croniter.expand(" ".join(parts))[0][cron_field.index]
    if values == ["*"]:
        return tuple(
            range(cron_field.low, min(cron_field.high, 6 if cron_field is _WEEKDAY else 59) + 1)
        )
    return tuple(sorted(int(value) for value in values))


def _wrapped(cron_field: CronField, text: str) -> tuple[int, ...]:
    """Expand a range that passes the end of the week or year; return () for any other.

    The step is counted on through the end; croniter starts it anew there. A hash reaches over
    each weekday and month once, and so does the count.
    """
    match = re.fullmatch(r"(\d+)-(\d+)(?:/(\d+))?", text, re.ASCII)
    if not match or int(match[2]) >= int(match[1]):
        return ()
    first, low, size = int(match[1]), cron_field.low, cron_field.hash_high + 1 - cron_field.low
    steps = range(0, (int(match[2]) - first) % size + 1, int(match[3] or 1))
    return tuple(sorted((first - low + passed) % size + low for passed in steps))
