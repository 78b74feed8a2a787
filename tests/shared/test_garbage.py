"""How often a process looks for circles: seldom, and never among what its start has made."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from shared.garbage import collect_seldom


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


class Circle:
    def __init__(self) -> None:
        self.me = self


def test_what_is_there_is_left_out_and_new_circles_are_found():
    collect_seldom()

    assert gc.get_freeze_count() > 1000
    assert gc.get_threshold()[0] > 700
    gone = weakref.ref(Circle())
    gc.collect()
    assert gone() is None
