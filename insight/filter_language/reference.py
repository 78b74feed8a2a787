"""The reference page of the filter language, written from its declarations.

``docs/reference/filters.md`` is this text; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from insight.filter_language.fields import VOCABULARIES, Vocabulary
from insight.filter_language.tokens import MAX_LENGTH, MAX_TERMS, MAX_VALUES
from insight.filter_language.values import MOST_STARS
from insight.list_budget import BUDGET_MS
from insight.list_orders import DEAD_LETTER_ORDERS, EXECUTION_ORDERS, INDEXED, TASK_ORDERS

_HEAD = f"""# Filters and orders of lists

Written from the code; a test holds this page to it. `filter` of `GET /v1/executions`, `/v1/tasks`
and `/v1/dlq`, the option `--filter` of `executions list`, `tasks list` and `dlq list`, and the
field *Filter* of the console read the same language ([how to use it](../howto/find-executions.md)).

```
status:failed,retrying task:"nightly*" label:team:billing http:5xx attempt:>3 -label:test invoice
```

- `key:value` is a term. Rows have to match all terms of a filter.
- `key:one,two` matches either value.
- `-` in front of a term leaves out what it matches, and keeps rows that have no such value.
- `"…"` holds spaces, commas and colons; in it `\\"` is a quote and `\\\\` a backslash.
- A word without a key is looked for as text; in quotes, with its spaces.
- Of what has an order: `3`, `>3`, `>=3`, `<3`, `<=3`, `2..5` with both ends, `2..` and `..5`.
- In texts `*` is any text, up to {MOST_STARS} times. Without one, the whole text is compared.
- A filter has at most {MAX_LENGTH} characters, {MAX_TERMS} terms and {MAX_VALUES} values.

An unknown field or value is refused with its position and the nearest known word. Other parameters
of a list, such as `since`, `task` and `q`, stay as they are; a row has to match both.
"""
_TITLES = {"executions": "Executions", "tasks": "Tasks", "dead_letters": "Dead letters"}
_ORDERS = {"executions": EXECUTION_ORDERS, "tasks": TASK_ORDERS, "dead_letters": DEAD_LETTER_ORDERS}


def render_filters() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for one in VOCABULARIES.values() for line in _section(one))])


def _section(vocabulary: Vocabulary) -> Iterator[str]:
    yield f"## {_TITLES[vocabulary.name]}"
    yield ""
    yield "| Field | Meaning | Value | Example |"
    yield "|---|---|---|---|"
    for field in vocabulary.fields.values():
        form = field.kind.form
        if field.listed:
            form = ", ".join(f"`{word}`" for word in field.listed)
        yield f"| `{field.name}` | {field.meaning} | {form} | `{field.example}` |"
    yield ""
    yield f"Free text is looked for in {vocabulary.free_text}."
    yield ""
    orders = _ORDERS[vocabulary.name]
    names = ", ".join(f"`{name}`" for name in orders if not name.startswith("-"))
    yield (
        f"`ordering` is one of {names}, with `-` in front for the largest first. "
        f"{_cost(orders)} Rows without a value in that column are left out."
    )
    yield ""


def _cost(orders: Mapping[str, Any]) -> str:
    indexed = ", ".join(f"`{name}`" for name in sorted(INDEXED) if name in orders)
    return (
        f"Any length of list is read in the order of {indexed} at once; the others sort what the "
        f"filter leaves, which is refused (`window_too_wide`) where it takes over "
        f"{BUDGET_MS // 1000} s, with advice how to narrow it."
    )
