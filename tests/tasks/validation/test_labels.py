from __future__ import annotations

import pytest

from tests.tasks.bodies import POOL, create, problems, with_target


@pytest.mark.parametrize(
    ("requires", "field", "code"),
    [
        ([], "", "invalid_type"),
        (None, "", "null"),
        ({str(n): "x" for n in range(33)}, "", "too_many"),
        ({"gpu": 5}, "/gpu", "invalid_type"),
        ({"gpu": "x" * 201}, "/gpu", "too_long"),
        ({"k" * 64: "x"}, "/" + "k" * 64, "too_long"),
        ({"a/b": "\x1b"}, "/a~1b", "invalid_characters"),
    ],
)
def test_required_labels_have_the_limits_of_labels(requires, field, code):
    found = problems(create, with_target({**POOL, "requires": requires}))

    assert found == {(f"#/target/requires{field}", code)}


def test_the_value_of_a_required_label_may_be_empty():
    assert create(with_target({**POOL, "requires": {"gpu": ""}})).target["requires"] == {"gpu": ""}
