"""Tests wait on conditions and events, never for a length of time, and time nothing."""

from __future__ import annotations

import ast

from tests.support.syntax import parse

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
_SLEEPERS = {"time.sleep", "asyncio.sleep", "anyio.sleep", "gevent.sleep", "trio.sleep"}


def sleeps(source: str) -> list[str]:
    """Refuse sleeping under whatever name; ``asyncio.sleep(0)`` only gives way and may stay."""
    if "sleep" not in source:
        return []
    tree = parse(source)
    names = _names(tree)
    giving_way = _giving_way(tree)
    return [
        f"{node.lineno}: sleeps; wait on a condition or advance the clock"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and _meaning(node, names) in _SLEEPERS
        and id(node) not in giving_way
    ]


def deaf_waits(source: str) -> list[str]:
    """Refuse ``asyncio.wait_for``, which before Python 3.12 may drop a cancellation."""
    if "wait_for" not in source:
        return []
    tree = parse(source)
    names = _names(tree)
    return [
        f"{node.lineno}: asyncio.wait_for may drop a cancellation; use asyncio.timeout"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and _meaning(node, names) == "asyncio.wait_for"
    ]


def timed_assertions(source: str) -> list[str]:
    """Refuse assertions that compare with what a clock has measured: a loaded machine fails them.

    A name counts as measured where a clock is part of the value that it is given.
    """
    if not any(clock in source for clock in _CLOCKS):
        return []
    tree = parse(source)
    measured = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _asks_clock(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [
        f"{node.lineno}: asserts how long something took; bound its work or wait on a condition"
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        and any(
            isinstance(part, ast.Compare)
            and any(isinstance(way, _ORDERS) for way in part.ops)
            and (_asks_clock(part) or measured & _names_in(part))
            for part in ast.walk(node.test)
        )
    ]


def _asks_clock(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] in _CLOCKS
        for part in ast.walk(node)
    )


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _names(tree: ast.Module) -> dict[str, str]:
    """Return what the imported names of a module stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                names[name.asname or name.name] = name.name
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                names[name.asname or name.name] = f"{node.module}.{name.name}"
    return names


def _meaning(node: ast.expr, names: dict[str, str]) -> str | None:
    """Return what an imported name, or one in an imported module, stands for."""
    first, *rest = ast.unparse(node).split(".")
    return ".".join([names[first], *rest]) if first in names else None


def _giving_way(tree: ast.Module) -> set[int]:
    return {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == 0
    }
