"""YAML that says what JSON can say, and nothing else: definitions that people write.

YAML is read by the core schema of YAML 1.2, in which every value is one of JSON: ``on`` and ``no``
are texts, and so are times and dates. Aliases are refused, because a short text with them can
mean a very long one. The values are judged as those of JSON are (:mod:`shared.strict_json`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from shared.exceptions import FieldError, InvalidInput
from shared.strict_json import MAX_DEPTH, json_problem

#: Digits of a number; one of JSON has twenty at most, or is a decimal.
_MOST_DIGITS = 400
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")


def read_yaml(source: bytes | str) -> Any:
    """Return the value of a YAML text; raise InvalidInput that says what is wrong and where.

    The code is ``yaml_invalid``, or that of a value that JSON cannot carry.
    """
    try:
        text = source.decode() if isinstance(source, bytes) else source
        value = yaml.load(text, _Loader)  # noqa: S506 - a safe loader with fewer types
    except UnicodeDecodeError as error:
        raise _invalid(f"This is not UTF-8 text: bad byte at offset {error.start}.") from error
    except yaml.YAMLError as error:
        raise _invalid(f"This is not YAML: {_sentence(error)}") from error
    problem = json_problem(value)
    if problem:
        raise InvalidInput([FieldError(*problem)], problem[2])
    return value


def write_yaml(value: Any) -> str:
    """Return YAML that :func:`read_yaml` reads as the value; texts of several lines are blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _invalid(message: str) -> InvalidInput:
    return InvalidInput([FieldError("#", "yaml_invalid", message)], message)


class _Loader(yaml.SafeLoader):
    """A loader of the values of JSON: no dates, no tags, no aliases, no name twice."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases, and what is nested deeper than JSON may be."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML has no types there
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases are not read; write the value again", problem_mark=event.start_mark
            )
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            message = f"it is nested deeper than {MAX_DEPTH} levels"
            raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a name that an object has twice, or that is no text."""
        names: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(
                    problem="a name must be a text; write it in quotes",
                    problem_mark=key.start_mark,
                )
            if name in names:
                message = f"the name {name[:40]!r} is here twice"
                raise yaml.MarkedYAMLError(problem=message, problem_mark=key.start_mark)
            names.add(name)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return found


def _sentence(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and error.problem_mark:
        mark = error.problem_mark
        said = f"{error.problem} at line {mark.line + 1}, column {mark.column + 1}."
        if error.problem.endswith("got '?'"):
            # PyYAML ends a text within braces there; a URL often has one.
            said += " Write a text with a question mark in quotes."
        return said
    return f"{' '.join(str(error).split())}."


def _refuse_tag(loader: _Loader, node: yaml.Node) -> Any:
    message = f"the tag {node.tag[:40]!r} has no value in JSON"
    raise yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    if len(node.value) > _MOST_DIGITS:
        problem = "a number is too long"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return int(node.value)


def _decimal(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(node.value)


#: The plain words that are no texts, by the core schema; hexadecimal and octal numbers are texts.
_WORDS = (
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("tag:yaml.org,2002:int", r"^[-+]?[0-9]+$", list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
)
_Loader.yaml_implicit_resolvers = {}
_Loader.yaml_constructors = {
    f"tag:yaml.org,2002:{name}": yaml.SafeLoader.yaml_constructors[f"tag:yaml.org,2002:{name}"]
    for name in ("null", "bool", "str", "seq", "map")
}
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)
_Loader.add_constructor(None, _refuse_tag)


class _Dumper(yaml.SafeDumper):
    """Repeats values instead of naming them: the reader refuses aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that nothing is an alias."""
        return True


def _text(dumper: _Dumper, text: str) -> Any:
    # Only quotes keep line breaks other than \n, which a reader would turn into that one.
    style = '"' if _OTHER_BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
for _tag, _pattern, _first in _WORDS:
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), _first)
    # A text that the reader would take for something else is written in quotes.
    _Dumper.add_implicit_resolver(_tag, re.compile(_pattern), _first)
