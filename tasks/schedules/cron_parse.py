"""Cron text to sets of numbers, and for a wrong one the field, the position, the reason, a remedy.

`cron` turns the result into instants, `describe` into words. Two dialects: five fields, or six
with seconds first. Ranges, steps and names are expanded by croniter; the terms it lacks (`LW`,
`L-3`, `5L`), reads differently (`4-4`) or hashes unevenly (`H`) are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tasks.schedules import cron_terms
from tasks.schedules.cron_terms import FIELDS, CronField, CronProblem, Term

#: Longer than any sensible expression; keeps a hostile one cheap.
MAX_LENGTH = 500

_HASH = re.compile(r"(?:^|[ \t,])[Hh]")

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True, eq=False)
class CronFields:
    """An expression, expanded. Weekdays count from Sunday = 0."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: tuple[int, ...]
    weekdays: frozenset[int]
    #: Days counted back from the last of the month: L is 0, L-3 is 3.
    days_before_last: frozenset[int]
    #: Days that mean their nearest weekday (Monday to Friday): 15W.
    nearest_to: frozenset[int]
    #: LW: the last day of the month that is not a Saturday or Sunday.
    last_workday: bool
    #: (weekday, n): the n-th of the month; n is 0 for the last.
    nth_weekdays: frozenset[tuple[int, int]]
    #: Vixie's rule: a day field that begins with `*` makes both fields bind, else one suffices.
    both_days: bool
    #: Second, minute and hour are values, lists or ranges, without wildcard or step.
    fixed_time: bool
    has_seconds: bool
    #: The fields as read, hashes resolved, for describing.
    texts: tuple[str, ...]
    #: Where the day-of-month field begins, counted from 1.
    day_position: int


def parse_cron(expression: object, seed: str = "") -> CronFields:
    """Read an expression; `seed` decides the values of its `H`. Raise CronProblem when wrong."""
    if not isinstance(expression, str):
        raise CronProblem("The cron expression must be a string such as '0 8 * * *'.")
    if len(expression) > MAX_LENGTH:
        raise CronProblem(f"The cron expression is longer than {MAX_LENGTH} characters.")
    return _parse(expression, seed if _HASH.search(expression) else "")


@lru_cache(maxsize=8192)
def _parse(expression: str, seed: str) -> CronFields:
    tokens = _tokens(_blanked(expression))
    has_seconds = len(tokens) == 6
    if not has_seconds:
        tokens.insert(0, _Token("0", 1))
    terms = [
        [cron_terms.read(field, text, position, seed) for text, position in _split(field, token)]
        for field, token in zip(FIELDS, tokens, strict=True)
    ]
    second, minute, hour, day, month, weekday = terms
    return CronFields(
        seconds=_values(second),
        minutes=_values(minute),
        hours=_values(hour),
        days=frozenset(_values(day)),
        months=_values(month),
        weekdays=frozenset(_values(weekday)),
        days_before_last=frozenset(t.before_last for t in day if t.before_last is not None),
        nearest_to=frozenset(t.nearest_to for t in day if t.nearest_to is not None),
        last_workday=any(t.last_workday for t in day),
        nth_weekdays=frozenset(t.nth_weekday for t in weekday if t.nth_weekday is not None),
        both_days=any(token.text[0] in "*?" for token in (tokens[3], tokens[5])),
        fixed_time=not any(t.recurs for field in (second, minute, hour) for t in field),
        has_seconds=has_seconds,
        texts=tuple(",".join(t.text for t in field) for field in terms),
        day_position=tokens[3].position,
    )


class _Token(NamedTuple):
    text: str
    #: One-based, as people count.
    position: int


def _tokens(expression: str) -> list[_Token]:
    # White space around it is allowed; positions count from the written text.
    odd = re.search(r"[^\x21-\x7e \t]", expression)
    if odd:
        raise CronProblem(
            f"Position {odd.start() + 1}: this character cannot stand in a cron expression. "
            "Use plain digits, names, '*', ',', '-', '/' and spaces."
        )
    if re.match(r"[ \t]*(CRON_)?TZ=", expression):
        raise CronProblem(
            "Position 1: a time zone does not belong in the expression. Give it as 'timezone'."
        )
    if expression.strip().startswith("@"):
        expression = _alias(expression.strip())
    found = [_Token(m.group(), m.start() + 1) for m in re.finditer(r"[^ \t]+", expression)]
    if len(found) not in (5, 6):
        year = " There is no field for the year: use 'start_at' and 'end_at'."
        raise CronProblem(
            f"The cron expression has {len(found)} fields. Use five (minute hour day-of-month "
            f"month day-of-week) or six (second first).{year if len(found) == 7 else ''}"
        )
    return found


def _blanked(expression: str) -> str:
    """Return the expression with plain blanks for all white space around it."""
    begin = len(expression) - len(expression.lstrip())
    return " " * begin + expression.strip()


def _alias(name: str) -> str:
    known = ALIASES.get(name.lower())
    if known is None:
        raise CronProblem(
            f"Position 1: {cron_terms.quote(name)} is not known. Use one of "
            f"{', '.join(ALIASES)}; for a fixed rate use 'every' instead of a cron expression."
        )
    return known


def _split(field: CronField, token: _Token) -> Iterator[_Token]:
    position = token.position
    for text in token.text.split(","):
        if not text:
            raise field.problem(position, "an item of the list is empty", "Remove the extra comma.")
        if text == "?" and text != token.text:
            raise field.problem(position, "'?' stands alone in its field", "Use '*' in a list.")
        yield _Token(text, position)
        position += len(text) + 1


def _values(terms: list[Term]) -> tuple[int, ...]:
    return tuple(sorted({value for term in terms for value in term.values}))
