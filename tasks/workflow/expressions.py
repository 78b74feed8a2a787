"""Expressions of a workflow's steps: ``steps.load.output.failed == 0 && input.day != null``.

A subset of CEL (Common Expression Language) without arithmetic, macros and functions besides
``size`` and ``has``: comparisons, ``in``, ``!``, ``&&``, ``||``, lists, literals and the names that
templates have. So an expression costs no more than reading its values once. ``&&`` and ``||`` go
from left to right and stop where the rest decides nothing. Decision note 0053 says why no library
does it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tasks.workflow.references import (
    Reference,
    Scope,
    TemplateInvalid,
    parse_reference,
)

LONGEST = 1000
#: How a step has ended, as templates and expressions see it.
STATUSES = ("SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")
_DEEPEST = 30
_TOKEN = re.compile(
    r"""(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<text>'(?:[^'\\\x00-\x1f]|\\[\\'"ntr])*'|"(?:[^"\\\x00-\x1f]|\\[\\'"ntr])*")
    | (?P<sign>==|!=|<=|>=|&&|\|\||[<>!()\[\],]|in\b)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:
        \.[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff-]*
        | \[-?[0-9]+\]
        | \['(?:[^'\\\x00-\x1f]|\\['\\])*'\]
        | \["(?:[^"\\\x00-\x1f]|\\["\\])*"\])*)""",
    re.VERBOSE,
)
_BLANKS = re.compile(r"[ \t\r\n]*")
#: What is written after a digit or a name without being a part of it, as in ``1x``.
_WORD = re.compile(r"[A-Za-z0-9_.\u0080-\uffff]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NULL = type(None)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS = ("==", "!=", *_ORDERS, "in")

#: Returns the value of a part of an expression; raises TemplateInvalid.
_Evaluate = Callable[[Scope], Any]


class ExpressionInvalid(ValueError):
    """A text is no expression; the message says where and what is wrong."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: what it names, and how it is judged."""

    references: tuple[Reference, ...]
    _evaluate: _Evaluate

    def holds(self, scope: Scope) -> bool:
        """Return whether it is true; raise TemplateInvalid where it has no truth value."""
        return _truth(self._evaluate(scope))


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression; ``always`` has the type of its value, where that is known.

    ``constant`` is the value of a literal, ``is_status`` whether it is the status of a step.
    """

    evaluate: _Evaluate
    always: type | None = None
    constant: Any = None
    is_status: bool = False


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Return the expression; raise ExpressionInvalid, also for one that is never true or false."""
    if len(text) > LONGEST:
        raise ExpressionInvalid(f"it has more than {LONGEST} characters")
    parser = _Parser(text)
    part = parser.whole()
    if part.always not in (None, bool):
        raise ExpressionInvalid("it is neither true nor false; compare it with something")
    return Expression(tuple(parser.references), part.evaluate)


class _Parser:
    """Reads an expression from left to right, a method for each rank of operators."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0
        self.references: list[Reference] = []

    def whole(self) -> _Part:
        part = self._any_of()
        if self._kind != "end":
            raise self._wrong("an operator")
        return part

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _token(self) -> str:
        return self._tokens[self._at][1]

    def _take(self, *tokens: str) -> str:
        """Return the next token and go on, if it is one of these; else ''."""
        if self._kind == "sign" and self._token in tokens:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return ""

    def _require(self, token: str) -> None:
        if not self._take(token):
            raise self._wrong(repr(token))

    def _wrong(self, wanted: str) -> ExpressionInvalid:
        _, found, place = self._tokens[self._at]
        shown = repr(found[:40]) if found else "its end"
        return ExpressionInvalid(f"at character {place + 1} there is {shown} in place of {wanted}")

    def _any_of(self) -> _Part:
        return self._joined("||", self._all_of, any)

    def _all_of(self) -> _Part:
        return self._joined("&&", self._compared, all)

    def _joined(
        self, sign: str, below: Callable[[], _Part], judge: Callable[[Iterable[bool]], bool]
    ) -> _Part:
        parts = [below()]
        while self._take(sign):
            parts.append(below())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            _must_be_true_or_false(part, sign)
        return _Part(lambda scope: judge(_truth(part.evaluate(scope)) for part in parts), bool)

    def _compared(self) -> _Part:
        left = self._signed()
        sign = self._take(*_COMPARISONS)
        if not sign:
            return left
        right = self._signed()
        _must_compare(sign, left, right)
        if self._take(*_COMPARISONS):
            self._at -= 1
            raise self._wrong("&& or ||; a comparison has two sides")
        return _Part(
            lambda scope: _compare(sign, left.evaluate(scope), right.evaluate(scope)), bool
        )

    def _signed(self) -> _Part:
        if not self._take("!"):
            return self._single()
        part = self._deeper(self._signed)
        _must_be_true_or_false(part, "!")
        return _Part(lambda scope: not _truth(part.evaluate(scope)), bool)

    def _single(self) -> _Part:
        kind, token, _ = self._tokens[self._at]
        if kind in ("number", "text"):
            self._at += 1
            return _literal(_number(token) if kind == "number" else _unquoted(token))
        if self._take("("):
            part = self._deeper(self._any_of)
            self._require(")")
            return part
        if self._take("["):
            return self._list()
        if kind != "name":
            raise self._wrong("a value")
        self._at += 1
        if token in _WORDS:
            return _literal(_WORDS[token])
        if token in ("size", "has") and self._take("("):
            return self._function(token)
        return self._reference(token)

    def _list(self) -> _Part:
        parts: list[_Part] = []
        while not self._take("]"):
            if parts:
                self._require(",")
            parts.append(self._deeper(self._any_of))
        return _Part(lambda scope: [part.evaluate(scope) for part in parts], list)

    def _function(self, name: str) -> _Part:
        if name == "size":
            part = self._deeper(self._any_of)
            self._require(")")
            if part.always in (int, float, bool, _NULL):
                raise ExpressionInvalid("size() is asked of what has none")
            return _Part(lambda scope: _size(part.evaluate(scope)), int)
        kind, token, _ = self._tokens[self._at]
        if kind != "name" or token in _WORDS:
            raise self._wrong("a name, such as input.day")
        self._at += 1
        reference = self._named(token)
        self._require(")")
        return _Part(lambda scope: scope.has(reference), bool)

    def _reference(self, token: str) -> _Part:
        reference = self._named(token)
        is_status = reference.part == "status"
        return _Part(lambda scope: scope.value_of(reference), reference.type, is_status=is_status)

    def _named(self, token: str) -> Reference:
        try:
            reference = parse_reference(token)
        except ValueError as wrong:
            raise ExpressionInvalid(f"{token[:100]!r} names nothing: {wrong}") from None
        self.references.append(reference)
        return reference

    def _deeper(self, below: Callable[[], _Part]) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExpressionInvalid(f"it is nested more than {_DEEPEST} deep")
        part = below()
        self._depth -= 1
        return part


def _must_be_true_or_false(part: _Part, sign: str) -> None:
    if part.always not in (None, bool):
        raise ExpressionInvalid(f"{sign} stands beside what is neither true nor false")


def _must_compare(sign: str, left: _Part, right: _Part) -> None:
    """Refuse a comparison that can never be judged, or only in one way."""
    if sign == "in":
        if right.always not in (None, list):
            raise ExpressionInvalid("in stands before what is no list and no object")
        return
    known = [part.always for part in (left, right) if part.always is not None]
    numbers = [one for one in known if one in (int, float)]
    if sign in _ORDERS and any(one not in (int, float, str) for one in known):
        raise ExpressionInvalid(f"{sign} compares numbers, or texts")
    if sign in _ORDERS and len(known) == 2 and len(numbers) == 1:
        raise ExpressionInvalid(f"{sign} stands between a number and a text")
    for one, other in ((left, right), (right, left)):
        if one.is_status and other.constant is not None and other.constant not in STATUSES:
            shown = str(other.constant)[:40]
            raise ExpressionInvalid(f"a status is never {shown!r}; there are {', '.join(STATUSES)}")


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and place of each token, at last an empty one of kind 'end'."""
    at, end = _after_blanks(text, 0), len(text.rstrip(" \t\r\n"))
    while at < end:
        found = _TOKEN.match(text, at)
        kind = found.lastgroup if found else None
        if not found or not kind or (kind in ("number", "name") and _WORD.match(text, found.end())):
            raise ExpressionInvalid(f"at character {at + 1} there is nothing that it knows")
        yield kind, found[0], at
        at = _after_blanks(text, found.end())
    yield "end", "", end


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _literal(value: Any) -> _Part:
    return _Part(lambda scope: value, type(value), value)


def _number(token: str) -> float:
    if re.fullmatch(r"-?[0-9]+", token):
        return int(token)
    number = float(token)
    if not math.isfinite(number) or (
        number == 0 and re.search("[1-9]", token.lower().split("e")[0])
    ):
        raise ExpressionInvalid(f"{token[:40]} is beyond the numbers that it knows")
    return number


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1])


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TemplateInvalid(f"It is {_called(value)}, neither true nor false.")


def _size(value: Any) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise TemplateInvalid(f"It is {_called(value)}, which has no size.")


def _compare(sign: str, left: Any, right: Any) -> bool:
    if sign == "==":
        return same(left, right)
    if sign == "!=":
        return not same(left, right)
    if sign == "in":
        return _contains(right, left)
    if not (_is_number(left) and _is_number(right)) and not (
        isinstance(left, str) and isinstance(right, str)
    ):
        raise TemplateInvalid(f"{sign} cannot compare {_called(left)} with {_called(right)}.")
    return _ORDERS[sign](left, right)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, list):
        return any(same(part, one) for one in whole)
    if isinstance(whole, dict):
        return isinstance(part, str) and part in whole
    raise TemplateInvalid(f"in asks for a list or an object, not {_called(whole)}.")


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, true and 1 are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _called(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if _is_number(value):
        return "a number"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else "an object"
