from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from executions.dispatch.shares.levels import Claimant, due_shares, places

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def test_places_go_by_weight():
    waiting = [Claimant(A, 1), Claimant(B, 2), Claimant(C, 4)]

    assert places(waiting, 700) == {A: 100, B: 200, C: 400}


def test_leased_work_counts_so_that_the_lowest_level_is_raised_first():
    waiting = [Claimant(A, 1, leased=50), Claimant(B, 1), Claimant(C, 1, leased=500)]

    assert places(waiting, 100) == {A: 25, B: 75}


def test_single_places_go_to_who_has_received_least_for_its_weight():
    waiting = [Claimant(A, 1, received=7.0), Claimant(B, 1, received=6.0), Claimant(C, 1)]

    assert places(waiting, 1) == {C: 1}
    assert places(waiting, 2) == {B: 1, C: 1}


def test_what_a_limited_tenant_may_not_have_goes_to_the_others():
    waiting = [Claimant(A, 4, most=10), Claimant(B, 1), Claimant(C, 1)]

    assert places(waiting, 110) == {A: 10, B: 50, C: 50}


def test_a_tenant_without_places_is_left_out():
    assert places([Claimant(A, 1, most=0), Claimant(B, 1)], 10) == {B: 10}
    assert places([Claimant(A, 1, most=0)], 10) == {}
    assert places([], 10) == {}
    assert places([Claimant(A, 1)], 0) == {}


def test_of_many_tenants_the_lowest_ones_are_visited_for_ten_rows_each():
    waiting = [Claimant(UUID(int=number), 1, received=float(number)) for number in range(1000)]

    got = places(waiting, 1000)

    assert set(got) == {UUID(int=number) for number in range(100)}
    assert set(got.values()) == {10}


CLAIMANTS = st.lists(
    st.tuples(
        st.integers(1, 1000),
        st.integers(0, 5000),
        st.floats(0, 100),
        st.one_of(st.none(), st.integers(0, 2000)),
    ),
    min_size=1,
    max_size=90,
)


@given(CLAIMANTS, st.integers(1, 1000))
def test_all_places_are_given_and_no_limit_is_passed(found: list, count: int):
    waiting = [Claimant(UUID(int=number), *one) for number, one in enumerate(found)]
    given_places = places(waiting, count)

    assert all(number > 0 for number in given_places.values())
    for one in waiting:
        if one.most is not None:
            assert given_places.get(one.tenant, 0) <= one.most
    visited = max(64, count // 10)
    if len(waiting) <= visited:
        free = sum(count if one.most is None else one.most for one in waiting)
        assert sum(given_places.values()) == min(count, free)


def test_what_is_due_goes_by_weight_as_far_as_a_tenant_has_work():
    assert due_shares({A: 1, B: 3}, {}, 100) == {A: 25.0, B: 75.0}
    assert due_shares({A: 1, B: 3}, {B: 20}, 100) == {A: 80.0, B: 20}
    assert due_shares({A: 1}, {}, 0) == {A: 0.0}
