from __future__ import annotations

from uuid import UUID

import pytest

from shared.receiver_address import is_segment, key_of, segment_of

KEY = key_of("a deployment's secret")
ALPHA, BETA = UUID(int=1), UUID(int=2)


def test_each_tenant_has_a_segment_of_its_own_that_stays():
    assert segment_of(KEY, ALPHA) == segment_of(KEY, ALPHA)
    assert segment_of(KEY, ALPHA) != segment_of(KEY, BETA)
    assert segment_of(KEY, ALPHA).isalnum()


def test_another_deployment_has_other_segments():
    other = key_of("another secret")

    assert segment_of(other, ALPHA) != segment_of(KEY, ALPHA)
    assert not is_segment(KEY, segment_of(other, ALPHA))


def test_a_segment_is_recognised_without_knowing_the_tenant():
    assert is_segment(KEY, segment_of(KEY, ALPHA))
    assert is_segment(KEY, segment_of(KEY, BETA))


@pytest.mark.parametrize("change", ["first", "last", "shorter", "longer", "upper"])
def test_a_segment_that_was_not_given_out_is_none(change: str):
    real = segment_of(KEY, ALPHA)
    other = "a" if real[0] != "a" else "b"
    made = {
        "first": other + real[1:],
        "last": real[:-1] + ("a" if real[-1] != "a" else "b"),
        "shorter": real[:-1],
        "longer": real + "a",
        "upper": real.upper(),
    }[change]

    assert not is_segment(KEY, made)


@pytest.mark.parametrize("text", ["", "ok", "a" * 32, "é" * 32, str(ALPHA).replace("-", "")])
def test_what_is_guessed_is_no_segment(text: str):
    assert not is_segment(KEY, text)
