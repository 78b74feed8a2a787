from __future__ import annotations

import pytest

from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--cursor", "x"), 2),
        (("--since", "soonish"), 2),
        (("--type", "execution.exploded"), 2),
        (("--limit", "0"), 2),
        (("--limit", "1001"), 2),
        (("--tenant", "nothing"), 3),
    ],
)
def test_bad_options_are_refused(alpha, words: tuple[str, ...], code: int):
    said = call("events", "list", *words)

    assert (said.code, said.out) == (code, "")
    assert said.err


def test_one_of_several_tenants_has_to_be_named(alpha, beta):
    assert call("events", "list").code == 2
    assert call("events", "list", "--tenant", "Beta").code == 0
