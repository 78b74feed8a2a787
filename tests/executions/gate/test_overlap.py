"""Every policy against every room: what is let go, skipped, waits, and has to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from executions.gate.overlap import Place, Standing, decide, judge


def place(number: int, *, cancelling: bool = False) -> Place:
    return Place(UUID(int=number), "RUNNING", number, cancelling)


def standing(policy: str, limit: int | None = 1, taken: int = 0, ending: int = 0) -> Standing:
    places = [place(number + 1, cancelling=number < ending) for number in range(taken)]
    return Standing(policy, limit, paused=False, places=tuple(places))


# Policy, limit, places taken, what is due; then what is let go, skipped and waits.
TABLE = [
    ("allow", None, 9, "abc", "abc", "", ""),
    ("allow", 2, 0, "abc", "ab", "", "c"),
    ("allow", 2, 2, "abc", "", "", "abc"),
    ("skip", 1, 0, "a", "a", "", ""),
    ("skip", 1, 0, "abc", "a", "bc", ""),
    ("skip", 1, 1, "abc", "", "abc", ""),
    ("skip", 3, 1, "abc", "ab", "c", ""),
    ("queue_one", 1, 0, "abc", "a", "c", "b"),
    ("queue_one", 1, 1, "abc", "", "bc", "a"),
    ("queue_one", 1, 1, "a", "", "", "a"),
    ("queue_one", 2, 1, "abc", "a", "c", "b"),
    ("queue_all", 1, 0, "abc", "a", "", "bc"),
    ("queue_all", 1, 1, "abc", "", "", "abc"),
    ("cancel_running", 1, 0, "a", "a", "", ""),
    ("cancel_running", 1, 0, "abc", "c", "ab", ""),
    ("cancel_running", 1, 1, "abc", "", "ab", "c"),
    ("cancel_running", 2, 1, "abc", "b", "a", "c"),
    # A limit that was lowered meanwhile: more run than may.
    ("queue_all", 1, 4, "a", "", "", "a"),
    ("skip", 1, 4, "a", "", "a", ""),
]


@pytest.mark.parametrize(
    ("policy", "limit", "taken", "due", "admitted", "skipped", "waiting"), TABLE
)
def test_each_policy_decides_by_the_room_there_is(
    policy: str, limit: int | None, taken: int, due: str, admitted: str, skipped: str, waiting: str
):
    found = decide(standing(policy, limit, taken), due)

    assert (found.admit, found.skip, found.wait) == (admitted, skipped, waiting)


@pytest.mark.parametrize(
    ("policy", "skipped", "waiting"), [("skip", "bc", "a"), ("queue_one", "c", "ab")]
)
def test_what_finds_a_retry_in_its_place_waits_for_it(policy: str, skipped: str, waiting: str):
    retry = replace(place(1), retries=True)

    found = decide(Standing(policy, 1, paused=False, places=(retry,)), "abc")

    assert (found.admit, found.skip, found.wait) == ("", skipped, waiting)


@pytest.mark.parametrize(
    ("limit", "taken", "ending", "due", "cancelled"),
    [
        (1, 1, 0, "a", 1),
        (1, 1, 0, "abc", 1),
        (1, 1, 1, "a", 0),
        (3, 3, 0, "a", 1),
        (3, 3, 1, "ab", 1),
        (3, 1, 0, "ab", 0),
        (1, 4, 0, "a", 4),
        (2, 2, 0, "abc", 2),
    ],
)
def test_as_many_of_the_oldest_are_cancelled_as_places_are_wanted(
    limit: int, taken: int, ending: int, due: str, cancelled: int
):
    group = standing("cancel_running", limit, taken, ending)

    found = decide(group, due)

    oldest = [one for one in group.places if not one.cancelling]
    assert list(found.cancel) == oldest[:cancelled]


@pytest.mark.parametrize("policy", ["skip", "queue_one", "queue_all", "allow"])
def test_other_policies_cancel_nothing(policy: str):
    assert decide(standing(policy, 1, 1), "abc").cancel == ()


@pytest.mark.parametrize("policy", ["skip", "queue_one", "queue_all", "cancel_running", "allow"])
def test_while_the_task_is_paused_everything_waits(policy: str):
    found = decide(Standing(policy, 1, paused=True), "abc")

    assert (found.wait, found.changes) == ("abc", False)


@pytest.mark.parametrize("policy", ["skip", "queue_one", "queue_all", "cancel_running", "allow"])
def test_no_more_are_let_go_than_there_are_places(policy: str):
    for limit in (1, 2, 5):
        for taken in range(7):
            found = decide(standing(policy, limit, taken), "abcd")

            assert taken + len(found.admit) <= max(limit, taken)
            # Everything that is due is decided on exactly once.
            parts = sorted([*found.admit, *found.skip, *found.wait])
            assert parts == list("abcd")


def test_only_what_changes_something_is_carried_out():
    assert decide(standing("skip", 1, 1), "a").changes
    assert not decide(standing("queue_all", 1, 1), "a").changes
    assert not decide(standing("cancel_running", 1, 1, ending=1), "a").changes


def test_who_has_a_place_is_named():
    assert standing("skip", 1, 2).active == [UUID(int=1), UUID(int=2)]


@dataclass(frozen=True)
class Due:
    """Due work by a letter: ``b`` gave its place away, ``m`` was asked for, others came due."""

    letter: str

    @property
    def id(self) -> UUID:
        return UUID(int=ord(self.letter))

    @property
    def gave_way(self) -> bool:
        return self.letter == "b"

    @property
    def patient(self) -> bool:
        return self.letter == "m"


# Policy, limit, places taken, what is due; then what is let go, skipped and waits.
BACK = [
    ("skip", 1, 1, "b", "", "", "b"),
    ("skip", 1, 1, "bx", "", "x", "b"),
    ("skip", 1, 0, "bx", "b", "x", ""),
    ("skip", 2, 0, "bxm", "bx", "", "m"),
    ("queue_one", 1, 0, "bxy", "b", "y", "x"),
    ("queue_all", 1, 0, "bxy", "b", "", "xy"),
    ("queue_all", 1, 1, "bxm", "", "", "xbm"),
    # It ends no run; a newer instant does, and replaces it as if it had its place.
    ("cancel_running", 1, 1, "b", "", "", "b"),
    ("cancel_running", 1, 0, "b", "b", "", ""),
    ("cancel_running", 1, 1, "bx", "", "b", "x"),
    ("cancel_running", 2, 1, "bx", "x", "", "b"),
    ("cancel_running", 2, 1, "bxm", "x", "", "bm"),
    ("allow", 1, 1, "b", "", "", "b"),
]


@pytest.mark.parametrize(
    ("policy", "limit", "taken", "due", "admitted", "skipped", "waiting"), BACK
)
def test_a_run_that_gave_its_place_away_is_first_in_line(
    policy: str, limit: int, taken: int, due: str, admitted: str, skipped: str, waiting: str
):
    found = judge(standing(policy, limit, taken), [Due(letter) for letter in due])

    assert letters(found.admit) == admitted
    assert letters(found.skip) == skipped
    assert letters(found.wait) == waiting


def letters(rows: Sequence[Due]) -> str:
    return "".join(row.letter for row in rows)


@pytest.mark.parametrize("due", ["b", "bm"])
def test_a_run_that_gave_its_place_away_ends_none(due: str):
    full = standing("cancel_running", 1, 1)

    assert not judge(full, [Due(letter) for letter in due]).cancel
    assert judge(full, [Due("b"), Due("x")]).cancel == list(full.places)


def test_while_the_task_is_paused_what_gave_way_waits():
    paused = replace(standing("cancel_running"), paused=True)
    rows = [Due("b"), Due("x")]

    found = judge(paused, rows)

    assert (found.wait, found.changes) == (rows, False)


def test_where_nothing_is_due_nothing_ends():
    assert not judge(standing("cancel_running", 1, 4), []).changes


def test_a_budget_decides_alone_where_nothing_else_does():
    assert replace(standing("allow", None), budgeted=True).budget_only
    for other in (standing("allow", None), standing("skip"), standing("allow", 2)):
        assert not replace(other, budgeted=other.policy == "skip" or other.limit == 2).budget_only
