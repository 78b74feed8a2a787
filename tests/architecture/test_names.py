"""Modules are plain nouns or stage verbs, migrations have names, tests are sentences."""

from __future__ import annotations

import pytest

from tests.architecture import tree
from tests.architecture.rules import names


def test_modules_are_named_for_what_is_inside():
    found = [
        breach
        for module in tree.modules(*tree.packages())
        for breach in names.module_name(module.path)
    ]

    assert not found, tree.report(found)


def test_five_files_with_one_prefix_are_a_folder():
    found = names.prefix_families(module.path for module in tree.production())

    assert not found, tree.report(found)


def test_the_rule_finds_a_family_of_files():
    files = [f"tasks/form_{part}.py" for part in "abcd"]

    assert not names.prefix_families(files)
    assert names.prefix_families([*files, "tasks/form.py"])
    assert not names.prefix_families(f"x/management/commands/run_{part}.py" for part in "abcde")


def test_migrations_have_names():
    found = [
        breach
        for module in tree.production()
        if module.is_migration
        for breach in names.migration_name(module.path)
    ]

    assert not found, tree.report(found)


def test_names_of_tests_are_sentences():
    found = tree.breaches(tree.modules("tests"), names.sentence_names)

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "path",
    [
        "shared/utils.py",
        "tasks/date_helpers.py",
        "shared/common/clock.py",
        "executions/queue_manager.py",
        "events/misc.py",
        "tasks/tasks.py",
    ],
)
def test_the_rule_refuses_empty_module_names(path: str):
    assert names.module_name(path)


@pytest.mark.parametrize(
    "path", ["shared/clock.py", "executions/dispatch/stage.py", "tasks/management/commands/x.py"]
)
def test_the_rule_accepts_plain_module_names(path: str):
    assert not names.module_name(path)


@pytest.mark.parametrize(
    "name",
    [
        "0002_auto_20260101_1200",
        "0002_auto_add",
        "0003_task_name_and_more",
        "0004_alter_task_name",
        "name",
    ],
)
def test_the_rule_refuses_migrations_without_a_name(name: str):
    assert names.migration_name(f"tasks/migrations/{name}.py")


@pytest.mark.parametrize("name", ["__init__", "0001_initial", "0002_pre_add_pause_note"])
def test_the_rule_accepts_named_migrations(name: str):
    assert not names.migration_name(f"tasks/migrations/{name}.py")


def test_the_rule_wants_sentences_of_tests():
    assert names.sentence_names("def test_claim(): pass")
    assert names.sentence_names("class TestX:\n    async def test_it(self): pass")
    assert not names.sentence_names("def test_stale_worker_cannot_complete(): pass")
