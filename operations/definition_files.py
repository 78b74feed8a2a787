"""Definitions that operators hand over in a file or on standard input, as JSON or as YAML.

YAML is read by the core schema of YAML 1.2, in which every value is one of JSON: ``on`` and ``no``
are texts, and so are times and dates. Aliases are refused, because a short text with them can
mean a very long one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from operations.files import parse_json, read_bytes
from shared.commands import wrong_use
from shared.strict_json import MAX_DEPTH, json_problem

#: A definition of a thousand steps is smaller.
MAX_BYTES = 4 * 1024 * 1024
_YAML = (".yaml", ".yml")
_JSON_BEGINS = (b"{", b"[")


def read_definition(name: str, option: str = "--file") -> Any:
    """Return what a file or, for ``-``, standard input holds; raise InvalidInput or NotFound.

    A text that begins with a bracket is JSON, unless the name of its file says YAML.
    """
    raw = read_bytes(name, MAX_BYTES)
    suffix = Path(name).suffix.lower()
    is_json = suffix == ".json" or raw.lstrip()[:1] in _JSON_BEGINS
    if is_json and suffix not in _YAML:
        return parse_json(raw, option)
    return parse_yaml(raw, option)


def parse_yaml(raw: bytes, option: str) -> Any:
    """Return the value of a YAML text; raise InvalidInput that says where it is wrong."""
    try:
        value = yaml.load(raw.decode(), _Loader)  # noqa: S506 - a safe loader with fewer types
    except UnicodeDecodeError as error:
        place = f"bad byte at offset {error.start}"
        raise wrong_use(option, f"This is not UTF-8 text: {place}.") from error
    except yaml.YAMLError as error:
        raise wrong_use(option, f"This is not YAML: {_sentence(error)}") from error
    problem = json_problem(value)
    if problem:
        place, _, message = problem
        where = place.removeprefix("#").strip("/").replace("/", ".")
        raise wrong_use(option, f"{where}: {message}" if where else message)
    return value


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
        """Refuse a name that stands twice in one object, or that is no text."""
        names: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(
                    problem="a name must be a text; write it in quotes",
                    problem_mark=key.start_mark,
                )
            if name in names:
                message = f"the name {name[:40]!r} stands here twice"
                raise yaml.MarkedYAMLError(problem=message, problem_mark=key.start_mark)
            names.add(name)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return found


def _sentence(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and error.problem_mark:
        mark = error.problem_mark
        return f"{error.problem} at line {mark.line + 1}, column {mark.column + 1}."
    return f"{' '.join(str(error).split())}."


def _refuse_tag(loader: _Loader, node: yaml.Node) -> Any:
    message = f"the tag {node.tag[:40]!r} has no value in JSON"
    raise yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(str(node.value))


def _decimal(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(str(node.value))


#: The plain words that are no texts, by the core schema; hexadecimal and octal numbers are texts.
_WORDS = (
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("tag:yaml.org,2002:int", r"^[-+]?[0-9]{1,400}$", list("-+0123456789")),
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
for _tag, _pattern, _first in _WORDS:
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), _first)
