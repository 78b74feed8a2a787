from __future__ import annotations

import pytest

from operations.proof.percentiles import Distribution, distribution, percentile


def test_every_percentile_is_a_value_that_was_measured():
    ordered = [float(number) for number in range(1, 101)]

    found = [percentile(ordered, share) for share in (0.0, 0.5, 0.95, 0.99, 1.0)]

    assert found == [1, 50, 95, 99, 100]


def test_few_values_give_their_largest_as_high_percentile():
    assert distribution([3.0, 1.0]) == Distribution(2, 1.0, 3.0, 3.0, 3.0)


def test_no_values_give_no_percentile():
    assert distribution([]) == Distribution()
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)
