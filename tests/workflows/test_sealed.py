"""What workflows keep is encrypted, and opens only in the place that it was written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shared.encryption import DecryptionFailed
from shared.ids import new_id
from workflows.sealed import (
    open_input,
    open_items,
    open_output,
    seal_input,
    seal_items,
    seal_output,
)

TENANT, RUN = new_id(), new_id()
VALUE = {"secret": ["täglich", 1, None]}


def test_an_output_comes_back_as_it_was():
    sealed = seal_output(VALUE, TENANT, RUN, 1, -1, 2)

    assert b"secret" not in sealed
    assert open_output(memoryview(sealed), TENANT, RUN, 1, -1, 2) == VALUE


@pytest.mark.parametrize(
    "place",
    [
        (TENANT, new_id(), 1, -1, 2),
        (TENANT, RUN, 2, -1, 2),
        (TENANT, RUN, 1, 0, 2),
        (TENANT, RUN, 1, -1, 1),
    ],
)
def test_an_output_of_another_place_does_not_open(place: Any):
    with pytest.raises(DecryptionFailed):
        open_output(seal_output(VALUE, TENANT, RUN, 1, -1, 2), *place)


def test_an_input_comes_back_as_it_was_and_none_is_null():
    assert open_input(seal_input(VALUE, TENANT, RUN), TENANT, RUN) == VALUE
    assert open_input(None, TENANT, RUN) is None


def test_items_come_back_in_their_order():
    assert open_items(seal_items([3, 1, 2], TENANT, RUN, 4), TENANT, RUN, 4) == [3, 1, 2]


@pytest.mark.parametrize(
    "read",
    [
        lambda: open_input(seal_input(VALUE, TENANT, new_id()), TENANT, RUN),
        lambda: open_items(seal_items([1], TENANT, RUN, 1), TENANT, RUN, 2),
        lambda: open_items(seal_items([1], TENANT, new_id(), 1), TENANT, RUN, 1),
    ],
)
def test_what_belongs_to_another_run_or_step_does_not_open(read: Callable[[], Any]):
    with pytest.raises(DecryptionFailed):
        read()
