"""Hooks of a commit that may fail are functions with a name: Django logs it where one fails.

A ``functools.partial`` has none, so that the failure of the hook would become an error of the
caller, whose transaction has been committed.
"""

from __future__ import annotations

import ast

from tests.architecture import tree
from tests.support.syntax import parse


def nameless(source: str) -> list[int]:
    """Return the lines that register a partial as a hook that may fail."""
    return [
        node.lineno
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "on_commit"
        and any(word.arg == "robust" for word in node.keywords)
        and not isinstance(node.args[0], ast.Lambda)
        and not _is_defined(node.args[0], source)
    ]


def _is_defined(hook: ast.expr, source: str) -> bool:
    """Return whether the hook is the name of a function of this module."""
    return isinstance(hook, ast.Name) and f"def {hook.id}(" in source


def test_hooks_that_may_fail_have_a_name():
    found = [
        f"{module.path}:{line}" for module in tree.production() for line in nameless(module.source)
    ]

    assert not found, tree.report(found)


def test_a_partial_is_found():
    planted = "transaction.on_commit(partial(write, rows), robust=True)"
    assigned = "hook = partial(write)\ntransaction.on_commit(hook, robust=True)"

    assert (nameless(planted), nameless(assigned)) == ([1], [2])
    assert not nameless("transaction.on_commit(lambda: write(rows), robust=True)")
    assert not nameless("def write():\n    pass\non_commit.on_commit(write, robust=True)")
    assert not nameless("transaction.on_commit(partial(write, rows))")
