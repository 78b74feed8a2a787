"""The core loop is five files, readable in one sitting: 900 lines together."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import sizes

STAGES = (
    "executions/materialize/stage.py",
    "executions/dispatch/stage.py",
    "worker/runner.py",
    "executions/complete/stage.py",
    "executions/rescue/stage.py",
)
LINES = 900


def test_the_five_stages_are_found_by_their_names():
    there = {module.path for module in tree.production()}

    assert not set(STAGES) - there


def test_the_five_stages_keep_to_their_budget():
    sources = {m.path: m.source for m in tree.production() if m.path in STAGES}

    found = sizes.together(sources, LINES)

    assert not found, tree.report(found)


def test_the_rule_adds_the_files_up():
    assert sizes.together({"a": "x\n" * 500, "b": "x\n" * 401}, 900)
    assert not sizes.together({"a": "x\n" * 500, "b": "x\n" * 400}, 900)
