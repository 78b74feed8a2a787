"""UPGRADING.md names every migration and no other, and all pages name one version."""

from __future__ import annotations

import re

from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from tests.architecture import tree

#: The migrations that the first version begins with.
FIRST_VERSION = {
    "events 0001_initial",
    "events 0002_audit_entries_are_append_only",
    "executions 0001_ledger",
    "tasks 0001_initial",
    "tenants 0001_initial",
}


def _text(page: str) -> str:
    return (tree.REPOSITORY / page).read_text(encoding="utf-8")


def test_every_migration_stands_in_the_table_of_upgrading_once():
    told = re.findall(r"^ *\| `(\w+ \d{4}_\w+)` \|", _text("UPGRADING.md"), re.MULTILINE)
    ours = {
        f"{app} {name}"
        for app, name in MigrationLoader(None).disk_migrations
        if app in tree.packages()
    }

    assert sorted(told) == sorted(ours - FIRST_VERSION)


def test_the_version_of_the_product_is_one_and_the_changelog_has_it():
    newest = {
        page: re.findall(r"^## \[?(\d+\.\d+\.\d+)", _text(page), re.MULTILINE)[0]
        for page in ("CHANGELOG.md", "UPGRADING.md")
    }

    assert set(newest.values()) == {settings.SPECTACULAR_SETTINGS["VERSION"]}


def test_the_steps_of_each_version_are_numbered_from_one_on():
    for entry in re.split(r"^## ", _text("UPGRADING.md"), flags=re.MULTILINE)[1:]:
        steps = [int(number) for number in re.findall(r"^(\d+)\. ", entry, re.MULTILINE)]
        assert steps == list(range(1, len(steps) + 1)), entry.partition("\n")[0]
