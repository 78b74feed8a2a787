"""Validation of a task's concurrency key: which work it shares the key with, and how many run."""

from __future__ import annotations

from typing import Any

from tasks.choices import CONCURRENCY_KEY_LENGTH, CONCURRENCY_ORDERS, IN_ORDER, MOST_OF_A_KEY
from tasks.field_reader import FieldReader

FIELDS = ("key", "max", "order")


def read_concurrency(reader: FieldReader) -> dict[str, Any] | None:
    """Return the key with its number and its order, None without one; note what is wrong."""
    inside = reader.part("concurrency")
    if inside is None:
        return None
    inside.refuse_unknown(FIELDS)
    inside.require("key", "Give the key, a text that the other tasks have, too.")
    order = inside.choice("order", CONCURRENCY_ORDERS, CONCURRENCY_ORDERS[0])
    most = inside.integer("max", 1, 1, MOST_OF_A_KEY)
    if order == IN_ORDER and most != 1:
        message = "In strict order one runs at a time: leave max out, or set order to any."
        inside.error("max", "not_applicable", message)
    return {
        "key": inside.text("key", "", longest=CONCURRENCY_KEY_LENGTH),
        "max": most,
        "order": order,
    }
