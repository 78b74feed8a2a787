"""Each protection that the threat model claims has a test that is there."""

from __future__ import annotations

import ast
import re

from tests.architecture import tree
from tests.support.syntax import parse

_PAGE = tree.REPOSITORY / "docs/security/threat-model.md"
_TEST = re.compile(r"`([a-z_/]+\.py)::(test_\w+)`")


def _sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rows(title: str) -> list[str]:
    lines = _sections()[title].splitlines()
    return [line for line in lines if line.startswith("| ")][1:]


def _collected(path: str) -> set[str]:
    """Return the tests of a file that pytest finds: functions of the module, by their names."""
    if not path.rpartition("/")[2].startswith("test_"):
        return set()
    source = (tree.REPOSITORY / "tests" / path).read_text(encoding="utf-8")
    return {
        node.name
        for node in parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_named_test_exists_and_is_collected():
    named = _TEST.findall(_PAGE.read_text(encoding="utf-8"))

    missing = [f"{path}::{name}" for path, name in named if name not in _collected(path)]

    assert len(named) > 60
    assert not missing, tree.report(missing)


def test_every_threat_and_every_risk_has_a_proof():
    threats, risks = (
        _rows("Threats and what stands against them"),
        _rows("OWASP API Security Top 10 (2023)"),
    )

    bare = [row for row in [*threats, *risks] if not _TEST.search(row.rsplit(" | ", 1)[1])]
    assert len(threats) > 20
    assert [int(re.match(r"\| API(\d+) ", row)[1]) for row in risks] == list(range(1, 11))  # type: ignore[index]  # each row has one
    assert not bare, tree.report(bare)
