"""What several test files need stands in a module of its own: a test file imports no other."""

from __future__ import annotations

import ast

import pytest

from tests.architecture import tree
from tests.support.syntax import parse


def imported_tests(source: str) -> list[str]:
    """Refuse imports of test files, by either form."""
    found = []
    for node in ast.walk(parse(source)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        names = [f"{of}{one.name}" for one in node.names]
        found += [
            f"{node.lineno}: imports {name}"
            for name in names
            if name.startswith("tests.") and any(p.startswith("test_") for p in name.split("."))
        ]
    return found


def test_no_file_of_tests_imports_a_test_file():
    found = tree.breaches(tree.modules("tests"), imported_tests)

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "code",
    [
        "from tests.wire.test_heartbeats import beat",
        "import tests.wire.test_heartbeats",
        "def test_one():\n    from tests.wire import test_heartbeats",
    ],
)
def test_the_rule_finds_an_import_of_a_test_file(code: str):
    assert imported_tests(code)


@pytest.mark.parametrize(
    "code",
    [
        "from tests.support.beats import beat",
        "from tests.factories import make_tenant",
        "from executions.triggering import test_delivery",
        "import pytest",
    ],
)
def test_the_rule_leaves_other_imports_alone(code: str):
    assert not imported_tests(code)
