"""Each production module with behaviour has the test file that mirrors its path."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath

from tests.support.syntax import parse

# Functions that only show or build an object; a module with nothing else is data.
_NO_BEHAVIOUR = {"__init__", "__str__", "__repr__", "ready"}


def has_behaviour(source: str) -> bool:
    """Tell whether a module defines a function that could be wrong."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in _NO_BEHAVIOUR
        for node in ast.walk(parse(source))
    )


def mirror_of(path: str) -> str:
    """Return where the tests of a module stand."""
    found = PurePosixPath(path)
    return (PurePosixPath("tests") / found.parent / f"test_{found.name}").as_posix()


def accepted_mirrors(path: str) -> list[str]:
    """Return the paths of which one must exist; a command may leave management/ out."""
    mirrors = [mirror_of(path)]
    if "/management/commands/" in path:
        mirrors.append(mirrors[0].replace("/management/commands/", "/commands/"))
        kind = PurePosixPath(path).stem.removeprefix("run_")
        mirrors.append(f"tests/processes/test_{kind}_lifecycle.py")
    return mirrors


def missing_mirror(path: str, source: str, tests: set[str]) -> list[str]:
    """Refuse a module with behaviour none of whose mirrors exists."""
    if not has_behaviour(source) or tests & set(accepted_mirrors(path)):
        return []
    return [f"{path}: {mirror_of(path)} is missing"]


def missing_endpoint_tests(path: str, tests: set[str]) -> list[str]:
    """Refuse an api folder whose tests folder has no file of an endpoint."""
    folder = f"tests/{PurePosixPath(path).parent.as_posix()}/test_"
    if any(test.startswith(folder) for test in tests):
        return []
    return [f"{path}: {folder}<verb>_<noun>.py is missing"]
