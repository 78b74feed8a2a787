"""What templates and expressions of a workflow may name: the input, the steps before, the run.

``input``, ``steps.<key>.output``, ``steps.<key>.status``, ``item``, ``index``, ``run.id`` and
``run.scheduled_for``, and places within those that are JSON values. A text that is one template
alone keeps the type of its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from shared import templates
from shared.json_path import MISSING, Step, parse_path, read

ROOTS = ("input", "steps", "item", "index", "run")
_RUN = ("id", "scheduled_for")
_PARTS = ("output", "status")
LONGEST_NAME = 500
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class TemplateInvalid(ValueError):
    """A template or an expression has no value: a place does not exist, or types do not fit."""


class TemplateTooLarge(TemplateInvalid):
    """Templates insert more than may be made of one value."""


class Budget:
    """How many bytes the templates of a value may still insert.

    A list that names a large output a thousand times is refused before it has been written out.
    """

    def __init__(self, most: int) -> None:
        self.most = self._left = most

    def take(self, size: int) -> None:
        """Count what a template inserts; raise TemplateTooLarge."""
        self._left -= size
        if self._left < 0:
            raise TemplateTooLarge(f"Templates insert more than {self.most} bytes.")


@dataclass(frozen=True, slots=True)
class Reference:
    """One name: its root, and the place within that; of a step its key and the part of it."""

    root: str
    key: str = ""
    part: str = ""
    path: tuple[Step, ...] = ()

    @property
    def type(self) -> type | None:
        """The type of every value that it can have; None where it may be any."""
        if self.root == "run" or self.part == "status":
            return str
        return int if self.root == "index" else None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a step's templates read: values by the roots' names, as ``strict_json`` reads JSON.

    ``outputs`` and ``statuses`` have those of the steps that have ended, by their keys: of a step
    that has not ended, whose dependent did not wait for it, both are null. ``item`` and ``index``
    are those of a fan-out's item, else MISSING.
    """

    input: Any
    outputs: Mapping[str, Any]
    statuses: Mapping[str, str]
    run: Mapping[str, str]
    item: Any = MISSING
    index: Any = MISSING

    def value_of(self, reference: Reference) -> Any:
        """Return the value at the reference, null below null; raise TemplateInvalid without one."""
        value = self._find(reference, below_null=None)
        if value is MISSING:
            raise TemplateInvalid(f"{describe(reference)} does not exist.")
        return value

    def has(self, reference: Reference) -> bool:
        """Return whether the place exists; below null there is none."""
        return self._find(reference, below_null=MISSING) is not MISSING

    def _find(self, reference: Reference, below_null: Any) -> Any:
        if reference.root == "steps":
            known = self.outputs if reference.part == "output" else self.statuses
            value = known.get(reference.key)
        else:
            value = getattr(self, reference.root)
        for step in reference.path:
            if value is None:
                return below_null
            if value is MISSING:
                break
            value = read(value, (step,))
        return value


def parse_reference(name: str) -> Reference:
    """Return the reference that a template names; raise ValueError that says what is wrong."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"it has more than {LONGEST_NAME} characters")
    try:
        first, *rest = parse_path(f"$.{name}")
    except ValueError:
        raise ValueError("a name is written like steps.load.output.files[0]") from None
    if first not in ROOTS:
        raise ValueError(f"it begins with none of {', '.join(ROOTS)}")
    root = str(first)
    if root == "index" and rest:
        raise ValueError("index is a number and has no places")
    if root == "run" and (len(rest) != 1 or rest[0] not in _RUN):
        raise ValueError("of a run there are run.id and run.scheduled_for")
    if root != "steps":
        return Reference(root, path=tuple(rest))
    (key, part), path = [*rest, "", ""][:2], rest[2:]
    if not isinstance(key, str) or part not in _PARTS:
        raise ValueError("of a step there are steps.<key>.output and steps.<key>.status")
    if part == "status" and path:
        raise ValueError("a status is a text and has no places")
    return Reference(root, key, str(part), tuple(path))


def describe(reference: Reference) -> str:
    """Return the reference as a template may name it."""
    steps: tuple[Step, ...] = reference.path
    if reference.root == "steps":
        steps = (reference.key, reference.part, *steps)
    return reference.root + "".join(map(_described, steps))


def names_in(value: Any) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield each name in the texts of a JSON value, with the way to its text."""
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while waiting:
        item, way = waiting.pop()
        if isinstance(item, str):
            for name in templates.names_in(item):
                yield name, way
        elif isinstance(item, Mapping):
            waiting.extend((inside, (*way, key)) for key, inside in item.items())
        elif isinstance(item, list):
            waiting.extend((inside, (*way, place)) for place, inside in enumerate(item))


def is_alone(text: str) -> bool:
    """Return whether a text is one template and nothing else."""
    return templates.TEMPLATE.fullmatch(text) is not None


def sample_of(text: str) -> str:
    """Return a text of the same length with letters in place of its templates."""
    return templates.TEMPLATE.sub(lambda found: "x" * len(found[0]), text)


def render(value: Any, scope: Scope, budget: Budget) -> Any:
    """Return a JSON value with its templates replaced; raise TemplateInvalid, TemplateTooLarge.

    What a template inserts is not read again, also where it looks like a template. Nothing is
    encoded: a URL and a header need :func:`render_text`.
    """
    return templates.map_texts(value, lambda text: _render_text(text, scope, budget))


def render_text(text: str, scope: Scope, encode: Callable[[Any], str], budget: Budget) -> str:
    """Return a text with each template replaced by its encoded value.

    Raise TemplateInvalid, TemplateTooLarge.
    """

    def insert(found: re.Match[str]) -> str:
        inserted = encode(_value(templates.name_of(found), scope))
        budget.take(len(inserted))
        return inserted

    return templates.TEMPLATE.sub(insert, text)


def _render_text(text: str, scope: Scope, budget: Budget) -> Any:
    alone = templates.TEMPLATE.fullmatch(text)
    if not alone:
        return render_text(text, scope, as_text, budget)
    value = _value(templates.name_of(alone), scope)
    budget.take(len(orjson.dumps(value)))
    return value


def _value(name: str, scope: Scope) -> Any:
    try:
        reference = parse_reference(name)
    except ValueError as wrong:
        # Validation refuses it: a definition of an older version may have it.
        raise TemplateInvalid(f"There is no template {name[:100]!r}: {wrong}.") from None
    return scope.value_of(reference)


def as_text(value: Any) -> str:
    """Return a value as a text: null is empty, and what is no text is JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _described(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN.fullmatch(step):
        return f".{step}"
    quoted = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"
