from __future__ import annotations

import pytest

from worker.head_tail import HeadTail


def test_little_output_is_kept_as_it_is():
    kept = HeadTail(10)
    kept.add(b"hello")
    kept.add(b"world")

    assert (kept.kept(), kept.truncated, kept.seen) == (b"helloworld", False, 10)


def test_of_much_output_beginning_and_end_are_kept_and_the_gap_is_said():
    kept = HeadTail(10)
    for _ in range(100):
        kept.add(b"abcdefg")
    kept.add(b"the end")

    assert kept.truncated
    assert kept.kept() == b"abcde\n... 697 bytes left out ...\ne end"


@pytest.mark.parametrize("piece", [1, 3, 7, 5000])
def test_memory_is_bounded_however_it_comes(piece):
    kept = HeadTail(100)
    for _ in range(20_000 // piece):
        kept.add(b"x" * piece)

    assert len(kept._head) + len(kept._tail) <= 50 + 2 * 50 + piece
    assert len(kept.kept()) < 140


def test_what_keeps_nothing_still_counts():
    kept = HeadTail(0)
    kept.add(b"abc")

    assert (kept.seen, kept.truncated) == (3, True)


def test_what_must_not_be_kept_is_masked_on_both_sides_of_the_gap():
    def mask(data: bytes, *, begins_cut: bool = False, ends_cut: bool = False) -> bytes:
        return b"<%d%d:%s>" % (begins_cut, ends_cut, data)

    kept = HeadTail(10)
    kept.add(b"hello")
    assert kept.kept(mask) == b"<00:hello>"

    kept.add(b"big world")
    assert kept.kept(mask) == b"<01:hello>\n... 4 bytes left out ...\n<10:world>"
