"""A function fits on a screen: 50 lines, docstring included."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import sizes


def test_functions_keep_to_their_budget():
    modules = (m for m in tree.modules(*tree.packages()) if not m.is_migration)

    found = tree.breaches(modules, sizes.function_size)

    assert not found, tree.report(found)


def test_the_rule_counts_a_function_from_its_name_to_its_end():
    assert sizes.function_size("def f():\n" + "    x = 1\n" * 50)
    assert sizes.function_size("class A:\n    async def f(self):\n" + "        x = 1\n" * 50)
    assert not sizes.function_size("def f():\n" + "    x = 1\n" * 49)
