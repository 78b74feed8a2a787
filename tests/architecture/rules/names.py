"""Names of modules, migrations and tests."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from tests.support.syntax import parse

_EMPTY_WORDS = {
    *("utils", "util", "utilities", "helpers", "helper", "common", "misc", "various", "stuff"),
    *("manager", "managers"),
}
#: This many files with one prefix belong in a folder.
_FAMILY = 5
_MIGRATION = re.compile(r"^\d{4}_[a-z][a-z0-9_]*$")
_NO_NAME = re.compile(r"^\d{4}_(auto_|alter_|remove_.*_and_more|.*_and_more$|.*_\d{8}_\d{4}$)")


def module_name(path: str) -> list[str]:
    """Refuse names that say nothing, in the file or in one of its folders."""
    words = {
        word
        for part in PurePosixPath(path).with_suffix("").parts
        for word in part.lower().split("_")
    }
    empty = sorted(words & _EMPTY_WORDS)
    breaches = [f"{path}: {word!r} does not say what is inside" for word in empty]
    if path == "tasks/tasks.py":
        breaches.append(f"{path}: Celery functions stand in celery_tasks.py")
    return breaches


def prefix_families(paths: Iterable[str]) -> list[str]:
    """Refuse five modules of a folder that begin with the same word: they are a folder."""
    found: Counter[str] = Counter()
    for path in map(PurePosixPath, paths):
        # The files of commands are named like the commands.
        if path.parent.name not in ("commands", "migrations"):
            found[f"{path.parent}/{path.stem.split('_')[0]}"] += 1
    return [f"{family}_*: {count} files" for family, count in found.items() if count >= _FAMILY]


def migration_name(path: str) -> list[str]:
    """Refuse migrations that Django named; ``0001_initial`` is a name."""
    name = PurePosixPath(path).stem
    if name == "__init__" or (_MIGRATION.match(name) and not _NO_NAME.match(name)):
        return []
    return [f"{path}: give the migration a name (makemigrations --name)"]


def sentence_names(source: str) -> list[str]:
    """Refuse test names too short to be a sentence of behaviour."""
    return [
        f"{node.lineno}: {node.name} is not a sentence"
        for node in ast.walk(parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len(node.name.split("_")) < 4
    ]
