"""Validation of the templates of a workflow's steps: where they may stand, and what they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.json_pointer import child
from shared.templates import origin_is_fixed
from tasks.field_reader import Errors, FieldReader, called_in_json, suggest
from tasks.limits import Limits
from tasks.repeats import Repeats
from tasks.validation.target import read_target
from tasks.workflow.expressions import parse_expression
from tasks.workflow.graph import Graph
from tasks.workflow.references import (
    ROOTS,
    Reference,
    alone_in,
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
            sample[field], written[field] = _with_samples(value), value
    url = reader.data.get("url")
    if isinstance(url, str) and not origin_is_fixed(url):
        message = "Templates may only stand behind the host of the URL."
        reader.error("url", "template_in_origin", message)
        sample["url"] = "https://example.com/"
    target = read_target(FieldReader(sample, reader.pointer, reader.errors), limits, repeats)
    return target | written


def check_raw_body(target: Mapping[str, Any] | None, payload: Any, at: str, errors: Errors) -> None:
    """Note a payload that a raw body cannot be."""
    if target and target.get("body_format") == "raw" and not isinstance(payload, str | None):
        message = f"A raw body is text or null, not {called_in_json(payload)}."
        errors.add(at, "invalid_type", message)


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
            part = next((part for part in _PARTS if way[: len(part)] == part), None)
            if part is None:
                # Elsewhere braces would be sent as they are.
                message = f"A template cannot stand here: {text[:60]!r}."
                problem: tuple[str, str] | None = ("template_not_here", message)
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
            reference = parse_reference(alone_in(items))
            if reference.type is not None:
                message = f"Items come from a list, and {alone_in(items)} is none."
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


def _pointer(pointer: str, way: _Way) -> str:
    for part in way:
        pointer = child(pointer, str(part))
    return pointer


def _with_samples(value: Any) -> Any:
    if isinstance(value, str):
        return sample_of(value)
    if isinstance(value, list):
        return [_with_samples(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _with_samples(item) for key, item in value.items()}
    return value
