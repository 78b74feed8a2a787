"""Validation of the templates of a workflow's steps: where they may stand, and what they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.json_pointer import child
from shared.named_secrets.references import secret_of
from shared.templates import map_texts
from tasks.field_reader import Errors, FieldReader, suggest
from tasks.limits import Limits
from tasks.repeats import Repeats
from tasks.validation.named_secrets import NOT_HERE, is_place
from tasks.validation.target import read_target
from tasks.validation.templates import note_template_in_origin
from tasks.workflow.expressions import parse_expression
from tasks.workflow.graph import Graph
from tasks.workflow.references import (
    ROOTS,
    Reference,
    names_in,
    parse_reference,
    sample_of,
)

_Way = tuple[str | int, ...]
#: Fields of a target whose texts may hold templates.
_OF_TARGET = ("url", "headers", "arguments", "environment")
#: Parts of a step whose texts may hold templates, by the way to them.
_PARTS: tuple[tuple[str, ...], ...] = (
    ("payload",),
    ("input",),
    ("for_each",),
    ("correlation",),
    ("compensate", "payload"),
    *(("target", field) for field in _OF_TARGET),
    *(("compensate", "target", field) for field in _OF_TARGET),
)
#: Parts that are rendered once for a fan-out, before it has items.
_BEFORE_ITEMS = ("for_each", "correlation")


def read_templated_target(reader: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    """Return a step's target in normal form, its templates as they were written.

    The rules of a target judge it with letters in place of each template.
    """
    sample, written = dict(reader.data), {}
    if sample.get("template"):
        message = "Steps always have the templates of a workflow; leave it out."
        reader.error("template", "not_applicable", message)
        sample["template"] = False
    for field in _OF_TARGET:
        value = reader.data.get(field)
        if any(True for _ in names_in(value)):
            sample[field], written[field] = map_texts(value, sample_of), value
    url = reader.data.get("url")
    if isinstance(url, str) and note_template_in_origin(reader, "url", url):
        sample["url"] = "https://example.com/"
    target = read_target(FieldReader(sample, reader.pointer, reader.errors), limits, repeats)
    return target | written


class Names:
    """What the steps of one workflow may name, judged when all are read."""

    def __init__(self, graph: Graph, numbers: Mapping[str, int], errors: Errors) -> None:
        self._graph, self._numbers, self._errors = graph, numbers, errors

    def check(self, step: Mapping[str, Any], pointer: str) -> None:
        """Note each name in a step's templates and in ``when`` that it cannot know."""
        fans_out = step.get("for_each") is not None
        for way, text, name in _templates(step):
            if self._errors.full:
                return
            problem: tuple[str, str] | None
            part = next((part for part in _PARTS if way[: len(part)] == part), None)
            if secret_of(name) is not None:
                # The target's own validation judges them; elsewhere they have no value.
                problem = None if _is_place(way) else ("secret_not_here", NOT_HERE)
            elif part is None:
                # Elsewhere braces would be sent as they are.
                message = f"A template cannot stand here: {text[:60]!r}."
                problem = ("template_not_here", message)
            else:
                has_items = fans_out and part[0] not in _BEFORE_ITEMS
                problem = self._problem_of_name(name, step, part, has_items=has_items)
            if problem:
                self._errors.add(_pointer(pointer, way), *problem)
        self._check_list(step, pointer)
        if step["when"] is not None:
            for reference in parse_expression(step["when"]).references:
                problem = self._problem(reference, step["key"], has_items=fans_out, own=False)
                if problem:
                    self._errors.add(child(pointer, "when"), *problem)

    def _check_list(self, step: Mapping[str, Any], pointer: str) -> None:
        at, items = child(pointer, "for_each"), step.get("for_each")
        if isinstance(items, str) and not self._errors.below(at):
            [(name, _)] = names_in(items)
            if parse_reference(name).type is not None:
                message = f"Items come from a list, and {name} is none."
                self._errors.add(at, "invalid_type", message)

    def _problem_of_name(
        self, name: str, step: Mapping[str, Any], part: Sequence[str], *, has_items: bool
    ) -> tuple[str, str] | None:
        try:
            reference = parse_reference(name)
        except ValueError as wrong:
            known = name.startswith(ROOTS)
            hint = "" if known or self._errors.full else suggest(name, ROOTS)
            return "template_unknown_name", f"There is no template {name[:100]!r}: {wrong}.{hint}"
        # What undoes a step has the output of that step.
        own = part[0] == "compensate"
        return self._problem(reference, step["key"], has_items=has_items, own=own)

    def _problem(
        self, reference: Reference, key: str, *, has_items: bool, own: bool
    ) -> tuple[str, str] | None:
        if reference.root in ("item", "index") and not has_items:
            message = f"Only the items of a fan-out have {reference.root!r}."
            return "template_unknown_name", message
        if reference.root != "steps" or (own and reference.key == key):
            return None
        if reference.key not in self._numbers:
            hint = "" if self._errors.full else suggest(reference.key, self._numbers)
            return "step_unknown", f"There is no step {reference.key[:100]!r}.{hint}"
        if not self._graph.comes_before(self._numbers[reference.key], self._numbers[key]):
            message = f"Step {reference.key!r} does not end before this one: name it in depends_on."
            return "step_not_before", message
        return None


def _templates(step: Mapping[str, Any]) -> Iterator[tuple[_Way, str, str]]:
    """Yield each template of a step: the way to its text, the text, and the name in it."""
    for name, way in names_in(step):
        text: Any = step
        for part in way:
            text = text[part]
        yield way, text, name


def _is_place(way: _Way) -> bool:
    """Return whether a named secret may stand at this way within a step."""
    inside = way[1:] if way[0] == "compensate" else way
    return inside[:1] == ("target",) and is_place(inside[1:])


def _pointer(pointer: str, way: _Way) -> str:
    for part in way:
        pointer = child(pointer, str(part))
    return pointer
