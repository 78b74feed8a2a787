"""UPGRADING.md tells every migration to whoever upgrades, and names none that does not exist."""

from __future__ import annotations

import re

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


def test_every_migration_stands_in_the_table_of_upgrading_once():
    text = (tree.REPOSITORY / "UPGRADING.md").read_text(encoding="utf-8")
    told = re.findall(r"^ *\| `(\w+ \d{4}_\w+)` \|", text, re.MULTILINE)
    ours = {
        f"{app} {name}"
        for app, name in MigrationLoader(None).disk_migrations
        if app in tree.packages()
    }

    assert sorted(told) == sorted(ours - FIRST_VERSION)
