"""Which events and fields a module logs, read from its calls.

A call is ``log.<level>("event", extra={...})`` with names that the text shows: a literal dict, a
local name of one, or ``**f(...)`` of a function of the module that returns one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.support.syntax import parse

_LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_LOGGERS = {"log", "logger", "logging"}


@dataclass(frozen=True)
class Call:
    """One call of a logger; ``event`` and ``fields`` are None where the text does not show them."""

    line: int
    level: str
    event: str | None
    fields: frozenset[str] | None
    traceback: bool


def calls(source: str) -> list[Call]:
    """Return the calls of loggers in a module."""
    tree = parse(source)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return [_call(node, scope, functions) for scope in _scopes(tree) for node in _calls_of(scope)]


def breaches(source: str, catalogue: Mapping[str, tuple[str, frozenset[str], bool]]) -> list[str]:
    """Return what is wrong with a module's calls; the catalogue has level, fields, traceback."""
    found: list[str] = []
    for call in calls(source):
        known = catalogue.get(call.event or "")
        if known is None:
            found.append(f"{call.line}: logs {call.event!r}, which is not in the catalogue")
            continue
        level, fields, traceback = known
        if call.level not in (level, "exception" if level == "error" and traceback else level):
            found.append(f"{call.line}: {call.event} has the level {call.level}, not {level}")
        if call.fields != fields:
            said = "fields that cannot be read" if call.fields is None else sorted(call.fields)
            found.append(f"{call.line}: {call.event} has {said}, not {sorted(fields)}")
        if call.traceback and not traceback:
            found.append(f"{call.line}: {call.event} has a traceback")
    return found


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def _calls_of(scope: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of loggers in a function or a module, without those of inner functions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        waiting += ast.iter_child_nodes(node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LEVELS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in _LOGGERS
        ):
            yield node


def _call(node: ast.Call, scope: ast.AST, functions: Mapping[str, ast.FunctionDef]) -> Call:
    event = node.args[0] if len(node.args) == 1 else None
    named = {word.arg: word.value for word in node.keywords}
    known = isinstance(event, ast.Constant) and isinstance(event.value, str)
    level = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    extra = named.get("extra", ast.Dict([], []))
    readable = set(named) <= {"extra", "exc_info"}
    return Call(
        node.lineno,
        level,
        str(event.value) if known and isinstance(event, ast.Constant) else None,
        _keys(extra, scope, functions) if readable else None,
        level == "exception" or "exc_info" in named,
    )


def _keys(
    value: ast.AST, scope: ast.AST, functions: Mapping[str, ast.FunctionDef]
) -> frozenset[str] | None:
    if isinstance(value, ast.Name):
        given = [
            one.value
            for one in ast.walk(scope)
            if isinstance(one, ast.Assign)
            and any(isinstance(to, ast.Name) and to.id == value.id for to in one.targets)
        ]
        return _keys(given[0], scope, functions) if len(given) == 1 else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        maker = functions.get(value.func.id)
        ends = [one for one in ast.walk(maker) if isinstance(one, ast.Return)] if maker else []
        return _keys(ends[0].value, scope, functions) if len(ends) == 1 and ends[0].value else None
    if not isinstance(value, ast.Dict):
        return None
    found: set[str] = set()
    for key, inner in zip(value.keys, value.values, strict=True):
        if key is None:
            spread = _keys(inner, scope, functions)
            if spread is None:
                return None
            found |= spread
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            found.add(key.value)
        else:
            return None
    return frozenset(found)
