"""A module fits in 400 lines and a test file in 600."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import sizes

MODULE_LINES = 400
TEST_LINES = 600
# Path -> why this file may be longer.
ALLOWED: dict[str, str] = {}


def test_modules_keep_to_their_budget():
    # Migrations are written by Django and not read again.
    modules = (m for m in (*tree.production(), *tree.modules("bench")) if not m.is_migration)

    found = tree.breaches(modules, lambda s: sizes.file_size(s, MODULE_LINES), except_for=ALLOWED)

    assert not found, tree.report(found)


def test_test_files_keep_to_their_budget():
    found = tree.breaches(tree.modules("tests"), lambda s: sizes.file_size(s, TEST_LINES))

    assert not found, tree.report(found)


def test_the_rule_counts_lines():
    assert sizes.file_size("x = 1\n" * 401, 400)
    assert not sizes.file_size("x = 1\n" * 400, 400)
