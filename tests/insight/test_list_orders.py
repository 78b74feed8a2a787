from __future__ import annotations

import pytest

from insight.list_orders import (
    DEAD_LETTER_ORDERS,
    EXECUTION_ORDERS,
    INDEXED,
    TASK_ORDERS,
    check_order,
)


@pytest.mark.parametrize("orders", [EXECUTION_ORDERS, TASK_ORDERS, DEAD_LETTER_ORDERS])
def test_every_order_has_its_reverse_and_ends_with_the_id(orders):
    for name, columns in orders.items():
        turned = name[1:] if name.startswith("-") else f"-{name}"
        assert [column.lstrip("-") for column in orders[turned]] == [
            column.lstrip("-") for column in columns
        ]
        assert columns[-1].lstrip("-") == "id"
    assert INDEXED & orders.keys()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("-worker", "no order by worker: no index"),
        ("status", "few values"),
        ("-start_delay_ms", "it is called delay"),
        ("durations", "Did you mean 'duration'"),
        ("", "Give one of -id, id"),
    ],
)
def test_another_order_is_refused_with_the_reason(name: str, words: str):
    with pytest.raises(ValueError, match=words):
        check_order(name, EXECUTION_ORDERS)
