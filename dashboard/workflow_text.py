"""The definition of a workflow as text: YAML or JSON, read strictly, and written to be edited.

YAML is read as version 1.2 has it, without what JSON lacks: ``on`` and ``no`` are texts, a date is
a text, and aliases, tags, duplicate keys and several documents are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import yaml

from shared.exceptions import FieldError, InvalidInput
from shared.strict_json import json_problem, read_json
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS_BY_KIND

#: Letters of the text; a definition of a thousand steps has a few hundred thousand.
LONGEST = 2_000_000
_POINTER = "#"
#: Values of a step that are left out because they are the defaults.
_STEP_DEFAULTS: Mapping[str, Any] = {
    "kind": "target",
    "condition": "all_success",
    "depends_on": [],
    "sensitive": False,
    "min_success_share": 1.0,
    "accept_earlier_seconds": 0,
}
_WORKFLOW_DEFAULTS: Mapping[str, Any] = {"on_failure": "fail_fast", "labels": {}, "priority": 5}


def read_text(text: str) -> Any:
    """Return the value of the text; raise InvalidInput that says what is wrong and where."""
    if len(text) > LONGEST:
        _refuse("too_long", f"The text has more than {LONGEST:,} letters.")
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text)
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes only what JSON has
    except yaml.MarkedYAMLError as error:
        _refuse("yaml_invalid", f"This is not YAML: {_problem(error)}.")
    except yaml.YAMLError:
        _refuse("yaml_invalid", "This is not YAML: it has a character that no text may have.")
    except RecursionError:
        _refuse("json_too_deep", "The text is nested too deep.")
    except ValueError:
        _refuse("number_out_of_range", "A number of the text is too long.")
    problem = json_problem(value, _POINTER)
    if problem:
        raise InvalidInput([FieldError(*problem)], problem[2])
    return value


def write_text(fields: Mapping[str, Any]) -> str:
    """Return the fields of a workflow as YAML, without the values that are defaults."""
    shown = _without(fields, _WORKFLOW_DEFAULTS)
    shown["steps"] = [_step(step) for step in fields["steps"]]
    return yaml.dump(shown, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    shown = _without(step, _STEP_DEFAULTS)
    if step.get("target"):
        shown["target"] = _target(step["target"])
    if step.get("retry_policy"):
        shown["retry_policy"] = _without(step["retry_policy"], RETRY_DEFAULTS)
    if step.get("compensate"):
        undo = {**step["compensate"], "target": _target(step["compensate"]["target"])}
        shown["compensate"] = _without(undo, {})
    return shown


def _target(target: Mapping[str, Any]) -> dict[str, Any]:
    kind = target["kind"]
    shown = _without(target, TARGET_DEFAULTS_BY_KIND[kind])
    return shown if kind == "webhook" else {"kind": kind, **shown}


def _without(value: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: part
        for key, part in value.items()
        if part is not None and (key not in defaults or defaults[key] != part)
    }


class _Loader(yaml.SafeLoader):
    """Reads what JSON can say, and nothing else."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases: a short text could make an endless value of them."""
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(problem="aliases are refused", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping with texts as keys, each once."""
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            is_text = isinstance(key_node, yaml.ScalarNode)
            key = key_node.value if is_text else None
            if key is None or key in found:
                problem = "a key occurs twice" if is_text else "a key is no text"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _made_of(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


# The core schema of YAML 1.2, without hexadecimal and octal numbers.
_made_of("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_made_of("null", r"^(?:~|null|Null|NULL|)$", "~nN\0")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_made_of("int", r"^[-+]?[0-9]+$", "-+0123456789")
_made_of("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789")


def _integer(_: _Loader, node: Any) -> int:
    return int(node.value)


def _decimal(_: _Loader, node: Any) -> float:
    return float(node.value)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and repeats values instead of naming them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that nothing is an alias: the reader refuses them."""
        return True


def _text(dumper: _Dumper, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _problem(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{error.problem or error.context}{at}"


def _refuse(code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError(_POINTER, code, message)], message)
