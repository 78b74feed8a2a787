"""Tests wait on conditions and events, never for a length of time."""

from __future__ import annotations

import ast

_SLEEPERS = {"time.sleep", "asyncio.sleep", "anyio.sleep", "gevent.sleep", "trio.sleep"}


def sleeps(source: str) -> list[str]:
    """Refuse sleeping under whatever name; ``asyncio.sleep(0)`` only gives way and may stay."""
    tree = ast.parse(source)
    names = _names(tree)
    giving_way = _giving_way(tree)
    return [
        f"{node.lineno}: sleeps; wait on a condition or advance the clock"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and names.get(ast.unparse(node)) in _SLEEPERS
        and id(node) not in giving_way
    ]


def _names(tree: ast.Module) -> dict[str, str]:
    """Return what the names of a module stand for, as far as sleeping goes."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                names[f"{name.asname or name.name}.sleep"] = f"{name.name}.sleep"
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                names[name.asname or name.name] = f"{node.module}.{name.name}"
    return names


def _giving_way(tree: ast.Module) -> set[int]:
    return {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == 0
    }
