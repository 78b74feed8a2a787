"""The reference page of what receivers do and what becomes of the attempt, from the tests' table.

``python -m tests.support.behaviour_pages > docs/reference/receiver-behaviours.md`` writes it again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.delivery.hostile.rows import Row
from tests.delivery.hostile.table import GROUPS, ROWS

_HEAD = f"""# What receivers do, and what becomes of the attempt

Written from the {len(ROWS)} behaviours that the tests play against the client on real sockets,
one at a time and all at once; a test holds this page to them. Each attempt ends within its
time-out, its connection is closed unless the answer was complete, and memory stays within bounds.

"Retried" is what the default retry policy does (`retry_on`: 5xx, 408, 425, 429, timeout,
connection); of an answer at most 64 KiB are kept, decompressed, and never more than that is read
into memory. To see it yourself, point a task at the
[built-in test receiver](../howto/test-with-the-built-in-receiver.md).
"""
_VERBS = {"succeeded": "succeeds", "retrying": "fails, is retried", "failed": "fails for good"}


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for name in GROUPS for line in _group(name))])


def _group(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| The receiver … | The attempt | Error code |"
    yield "|---|---|---|"
    for row in GROUPS[name]:
        yield f"| {row.name} | {_attempt(row)} | {_codes(row)} |"
    yield ""


def _attempt(row: Row) -> str:
    said = _VERBS[row.verb]
    if "" in row.codes and row.verb != "succeeded":
        said = f"succeeds, or {said}"
    if row.truncated:
        said += ", the answer is cut"
    if row.verb == "retrying" and row.wait != (2, 2):
        low, high = row.wait
        said += f" after {low:,.0f} s" if low == high else " at that time"
    return said


def _codes(row: Row) -> str:
    return ", ".join(f"`{code}`" for code in row.codes if code)


if __name__ == "__main__":
    sys.stdout.write(page())
