from __future__ import annotations

from dataclasses import replace

import pytest

from executions.changes import changing
from insight import version_diff
from insight.version_diff import CHANGED, LEFT_OUT, compare_versions
from shared.exceptions import NotFound
from shared.payload_sight import sight
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task, reload

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(alpha: Tenant) -> Task:
    """Return a task whose second version has another priority and payload."""
    made = make_task(alpha, daily(priority=5, payload={"report": 1}))

    def edit(current, now):
        return replace(current, priority=2, payload={"report": 2, "more": True}), None

    changing.edit_task(alpha.id, made.id, edit, actor=ACTOR)
    return reload(made)


def _changed(task: Task, before: int, after: int) -> set[tuple[str, str]]:
    found = compare_versions(task, before, after)
    lines = [line for line in found.lines if line.kind == CHANGED]
    return {((line.before or "").strip(), (line.after or "").strip()) for line in lines}


def test_the_lines_that_differ_stand_side_by_side(task: Task):
    changed = _changed(task, 1, 2)

    assert ('"priority": 5,', '"priority": 2,') in changed
    assert any('"report": 2' in after for _, after in changed)


def test_equal_lines_far_from_a_difference_are_left_out(task: Task):
    found = compare_versions(task, 1, 2)

    left_out = [line.count for line in found.lines if line.kind == LEFT_OUT]
    assert left_out
    assert min(left_out) > 1


def test_a_version_does_not_differ_from_itself(task: Task):
    found = compare_versions(task, 2, 2)

    assert not found.differs
    assert not found.cut


def test_payloads_are_hidden_from_who_may_not_see_them(task: Task):
    with sight(allowed=False):
        assert _changed(task, 1, 2) == {('"priority": 5,', '"priority": 2,')}


def test_a_long_definition_is_compared_in_part_and_says_so(
    task: Task, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(version_diff, "MOST_LINES", 5)

    assert compare_versions(task, 1, 2).cut


@pytest.mark.parametrize("most", [2, 1000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("abc", "abc"),
        ("", "abc"),
        ("abc", ""),
        ("abcd", "axcd"),
        ("abcabc", "abc"),
        ("xaxbxcx", "xbxdx"),
        ("a" * 300, "ab" * 150),
    ],
)
def test_the_stretches_of_two_versions_make_the_new_one_of_the_old(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, most: int
):
    monkeypatch.setattr(version_diff, "_MOST_ALIGNED", most)

    found = version_diff._opcodes(list(old), list(new))

    assert "".join(old[low:high] for _, low, high, _, _ in found) == old
    assert "".join(new[low:high] for *_, low, high in found) == new
    for tag, low, high, other_low, other_high in found:
        assert (old[low:high] == new[other_low:other_high]) == (tag == "equal")


def test_lines_that_are_very_frequent_are_compared_with_few_others(
    monkeypatch: pytest.MonkeyPatch,
):
    compared = 0

    class Counted(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    old, new = ([Counted(one) for one in text] for text in ("xz" * 500, "yx" * 500))

    version_diff._opcodes(old, new)

    assert compared < 20 * len(old)


def test_a_version_that_never_was_is_not_found(task: Task):
    assert read_definition(task, 2).priority == 2
    with pytest.raises(NotFound):
        compare_versions(task, 1, 3)
