from __future__ import annotations

from shared.sight import Sight


def test_it_shows_where_nobody_has_said():
    assert not Sight("a").is_hidden()


def test_it_hides_within_a_block_and_shows_again_behind_it():
    one, other = Sight("a"), Sight("a")

    with one.within(allowed=False):
        assert one.is_hidden()
        assert not other.is_hidden()
        with one.within(allowed=True):
            assert not one.is_hidden()
        assert one.is_hidden()

    assert not one.is_hidden()


def test_it_hides_until_the_end_that_belongs_to_the_begin():
    one = Sight("a")

    token = one.begin(allowed=False)
    assert one.is_hidden()
    one.end(token)

    assert not one.is_hidden()
