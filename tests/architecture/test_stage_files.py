"""The core loop is five files, readable in one sitting: 900 lines together."""

from __future__ import annotations

from tests.architecture import tree
from tests.architecture.rules import sizes

STAGES = ("materialize", "dispatch", "run", "complete", "rescue")
LINES = 900


def test_the_five_stages_stand_in_one_folder():
    there = {module.path for module in tree.modules("executions/engine")}

    missing = [stage for stage in STAGES if f"executions/engine/{stage}.py" not in there]

    assert not missing


def test_the_five_stages_keep_to_their_budget():
    paths = {f"executions/engine/{stage}.py" for stage in STAGES}
    sources = {m.path: m.source for m in tree.modules("executions/engine") if m.path in paths}

    found = sizes.together(sources, LINES)

    assert not found, tree.report(found)


def test_the_rule_adds_the_files_up():
    assert sizes.together({"a": "x\n" * 500, "b": "x\n" * 401}, 900)
    assert not sizes.together({"a": "x\n" * 500, "b": "x\n" * 400}, 900)
