from __future__ import annotations

import ast
from collections.abc import Iterator

from operations.setting_list import INTERNAL, SETTINGS
from tests.architecture import tree
from tests.support.syntax import parse

_READERS = {
    "text",
    "secret",
    "boolean",
    "integer",
    "decimal",
    "words",
    "networks",
    "programs",
    "variables",
    "tenants",
    "tiers",
}
_LISTED = {setting.name: setting for group in SETTINGS.values() for setting in group}


def test_every_variable_that_the_code_reads_is_listed():
    read = {name for name, _ in _reads()}

    assert read - set(_LISTED) - set(INTERNAL) == set()


def test_every_listed_variable_is_read_somewhere():
    # Read by the name of a constant, or only by asking whether it is set.
    read = {name for name, _ in _reads()} | {"PUNCTUAL_USER", "NO_COLOR", "OTEL_TRACES_SAMPLER"}

    assert set(_LISTED) - read == set()


def test_listed_defaults_are_those_of_the_code():
    wrong = {
        name: (default, _LISTED[name].default)
        for name, default in _reads()
        if name in _LISTED and default is not None and _spelled(default) != _LISTED[name].default
    }

    assert wrong == {}


def test_every_variable_says_what_it_means_and_can_be_read():
    for setting in _LISTED.values():
        assert setting.help.endswith("."), setting.name
        setting.read()


def _spelled(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _reads() -> Iterator[tuple[str, object]]:
    """Yield the variables that production code reads, with their constant defaults."""
    for module in tree.production():
        if module.path in ("operations/setting_list.py", "scheduler_site/settings_test.py"):
            continue
        for node in ast.walk(parse(module.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                reads = _is_reader(node.func)
                name = node.args[0]
                if reads and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value, _constant(node.args[1:2])


def _is_reader(function: ast.Attribute) -> bool:
    owner = ast.unparse(function.value)
    return (owner == "env" and function.attr in _READERS) or (
        owner == "os.environ" and function.attr == "get"
    )


def _constant(arguments: list[ast.expr]) -> object:
    text = ast.unparse(arguments[0]) if arguments else "None"
    found = parse(text)
    plain = all(
        isinstance(node, ast.Constant | ast.BinOp | ast.Mult | ast.Module | ast.Expr)
        for node in ast.walk(found)
    )
    return eval(text) if plain else None
