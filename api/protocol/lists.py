"""Query parameters of lists that are filtered by text and sorted: ``filter`` and ``ordering``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from api.protocol.query import Parameter
from insight.filter_language.fields import Vocabulary
from insight.filter_language.terms import parse
from insight.filter_language.tokens import MAX_LENGTH
from insight.list_orders import check_order


def filter_text(vocabulary: Vocabulary) -> Parameter:
    """Read a text of the filter language as an ``insight.filter_language.terms.Filter``."""
    fields = ", ".join(f"`{name}`" for name in vocabulary.fields)
    return Parameter(
        lambda text: parse(text, vocabulary),
        {"type": "string", "maxLength": MAX_LENGTH},
        f"A text of the filter language, such as `label:team:billing -host:*.test`. Fields: "
        f"{fields}; free text is looked for in {vocabulary.free_text}.",
    )


def ordering(orders: Mapping[str, tuple[str, ...]], *, default: str | None) -> Parameter:
    """Read one of the orders; the refusal of another says why there is none."""

    schema = {"type": "string", "enum": list(orders)}
    return Parameter(
        partial(check_order, orders=orders), schema, "By which column.", default=default
    )
