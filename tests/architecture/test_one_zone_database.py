"""Local times come from the pinned tzdata package alone (A4), and SQL computes with none."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tests.architecture import tree
from tests.support.syntax import parse

#: Zone arithmetic of PostgreSQL, which brings a database of its own; UTC is not a zone.
_ZONE_SQL = re.compile(
    r"at\s+time\s+zone\s+(?!'UTC')|\btimezone\s*\(|\bset\s+(local\s+|session\s+)?time\s*zone",
    re.IGNORECASE,
)
#: Packages that read the system's copy, or bring one.
_OTHER_SOURCES = {"pytz", "tzlocal", "dateutil.tz", "dateutil.zoneinfo", "backports.zoneinfo"}


def zone_sql(text: str) -> list[str]:
    """Return the places where a statement computes with zones; comments are not statements."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return [line.strip() for line in lines if _ZONE_SQL.search(line)]


def other_sources(source: str) -> list[str]:
    """Return the imports of packages that know zones besides tzdata."""
    found = []
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name in _OTHER_SOURCES]
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
            found += sorted(names & _OTHER_SOURCES)
    return found


def test_no_statement_computes_with_zones():
    found = [
        f"{name}: {line}" for name, text in tree.sql_files().items() for line in zone_sql(text)
    ]

    assert not found, tree.report(found)


def test_no_module_knows_zones_from_elsewhere():
    found = [
        f"{module.path}: {name}"
        for module in tree.production()
        for name in other_sources(module.source)
    ]

    assert not found, tree.report(found)


@pytest.mark.parametrize("module", ["tasks.schedules.zones", "scheduler_site.settings"])
def test_a_path_to_the_systems_copy_is_not_followed(module):
    """The environment names it as an operator might; whoever starts first puts an end to it."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}, zoneinfo; print(list(zoneinfo.TZPATH))"],
        env={"PYTHONTZPATH": "/usr/share/zoneinfo", "SECRET_KEY": "x" * 50, "PATH": ""},
        cwd=tree.REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == "[]", done.stderr


def test_the_rule_finds_zone_arithmetic():
    assert zone_sql("SELECT now() AT TIME ZONE t.zone")
    assert zone_sql("SELECT timezone('Europe/Berlin', now())")
    assert zone_sql("SET LOCAL TIME ZONE 'Europe/Berlin'")
    assert not zone_sql("SELECT clock_timestamp() AT TIME ZONE 'UTC'")
    assert not zone_sql("-- no AT TIME ZONE here\nSELECT schedule ->> 'timezone'")


def test_the_rule_finds_other_sources():
    assert other_sources("import pytz")
    assert other_sources("from dateutil import tz")
    assert other_sources("from dateutil.tz import gettz")
    assert not other_sources("from zoneinfo import ZoneInfo")
