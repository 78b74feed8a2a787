from __future__ import annotations

import pytest

from bench.workflows.__main__ import PARTS, options


def test_each_part_is_chosen_by_its_name_and_has_its_defaults():
    for part in PARTS:
        assert options([part.NAME]).run is part.run


def test_a_part_that_is_not_there_is_refused():
    with pytest.raises(SystemExit):
        options(["nothing"])
