"""Every reason word that the code writes has a meaning, and the page shows them all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from executions.materialize import planning
from insight import occurrences
from insight.explain.answer import CHECKS
from insight.explain.reasons import REASONS, meaning_of, render_reasons
from operations import history_samples
from tasks.schedules import base, misfire
from tests.support.syntax import parse

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "reasons.md"
#: Where reasons are written: a word after ``reason=``, or given to the verbs that take one.
_WRITERS = ("executions", "delivery", "wire")
_VERBS = {"cancel", "_cancel_unstarted", "skip", "request_cancel"}
#: Written by those, but not onto executions: bulk jobs, imports, logs.
_ELSEWHERE = {"too_many_failures", "verify_message"}


def words_of(source: str) -> set[str]:
    """Return the words that a module writes as reasons."""
    found = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            found |= {
                key.value.value
                for key in node.keywords
                if key.arg == "reason"
                and isinstance(key.value, ast.Constant)
                and isinstance(key.value.value, str)
            }
            if name in _VERBS:
                found |= {
                    one.value
                    for one in node.args[1:]
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
        if isinstance(node, ast.Dict):
            found |= {
                value.value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
                and key.value == "reason"
                and isinstance(value, ast.Constant)
                and isinstance(value.value, str)
            }
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "reason":
            found |= {
                one.value
                for one in ast.walk(node.value)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
    return found  # fmt: skip


def test_every_word_that_is_written_has_a_meaning():
    written = {
        misfire.GRACE_EXCEEDED,
        misfire.SKIPPED,
        misfire.COALESCED,
        misfire.REPLAYED,
        base.CALENDAR_EXCLUDED,
        occurrences.NOT_PREPARED,
        history_samples.MARK,
        *planning._REASON_OF_PAUSE.values(),
        "cancel_requested",
    }
    gate = (ROOT / "executions/gate/stage.py").read_text(encoding="utf-8")
    written |= set(re.findall(r'^[A-Z]+ = "(overlap_[a-z]+)"$', gate, re.MULTILINE))
    for folder in _WRITERS:
        for path in (ROOT / folder).rglob("*.py"):
            written |= {word for word in words_of(path.read_text(encoding="utf-8")) if "_" in word}

    missing = written - set(REASONS) - _ELSEWHERE

    assert not missing


def test_words_are_found_however_they_are_written():
    source = (
        "finish(reason='one_word')\ntransitions.cancel(rows, 'two_words')\n"
        "x = {'reason': 'three_words'}\nreason = 'four' if y else 'five'\n"
    )

    assert words_of(source) == {"one_word", "two_words", "three_words", "four", "five"}


def test_every_reason_belongs_to_a_check():
    assert {reason.check for reason in REASONS.values()} <= set(CHECKS)


def test_the_reference_page_is_what_the_table_says():
    assert PAGE.read_text(encoding="utf-8") == render_reasons()


def test_an_unknown_word_is_told_as_it_is():
    assert meaning_of("nobody_knows") == "The reason is nobody_knows."
