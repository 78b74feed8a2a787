"""What a module imports, read from its text; imports for the type checker do not count."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.support.syntax import parse


def imported(source: str) -> dict[str, int]:
    """Return the names a module imports with their lines, ``from a import b`` as ``a.b`` too."""
    found: dict[str, int] = {}
    for node in _running(parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                found.setdefault(name.name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.setdefault(node.module, node.lineno)
            for name in node.names:
                found.setdefault(f"{node.module}.{name.name}", node.lineno)
    return found


def forbidden_imports(source: str, forbidden: tuple[str, ...]) -> list[str]:
    """Refuse an import of one of the modules or of something inside it, once per line."""
    lines: dict[int, str] = {}
    for name, line in imported(source).items():
        if any(name == bad or name.startswith(f"{bad}.") for bad in forbidden):
            lines.setdefault(line, name)
    return [f"{line}: imports {name}" for line, name in sorted(lines.items())]


def chain_to(start: str, sources: dict[str, str], forbidden: tuple[str, ...]) -> list[str]:
    """Return the shortest chain of imports from a module to something forbidden, or nothing.

    ``sources`` are the texts of the first-party modules by dotted name.
    """
    came_from: dict[str, str | None] = {start: None}
    waiting = [start]
    for module in waiting:
        if forbidden_imports(sources[module], forbidden):
            return [*_path(module, came_from), ", ".join(forbidden)]
        for name in sorted(_with_parents(imported(sources[module]))):
            if name in sources and name not in came_from:
                came_from[name] = module
                waiting.append(name)
    return []


def _with_parents(names: Iterable[str]) -> set[str]:
    """Return the names and the packages around them, which an import runs as well."""
    return {
        ".".join(parts[:length])
        for parts in (name.split(".") for name in names)
        for length in range(1, len(parts) + 1)
    }


def _path(module: str, came_from: dict[str, str | None]) -> list[str]:
    path: list[str] = []
    step: str | None = module
    while step is not None:
        path.insert(0, step)
        step = came_from[step]
    return path


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the tree past the blocks that only the type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _running(other)
            continue
        yield child
        yield from _running(child)
