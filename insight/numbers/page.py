"""The reference page of the numbers, rendered from their catalogue.

``docs/reference/numbers.md`` is this text; a test compares the two.
"""

from __future__ import annotations

from insight.numbers import PARTS
from insight.numbers.number import Number

_HEAD = """# Numbers

Written from `insight/numbers/`; a test holds this page to it. Each number that the console, the
API or a command shows: what it counts, over which window, and how exact it is. Each is counted anew
by a test after a history with retries, skips, pauses and deletions. Metrics are on
[a page of their own](metrics.md).

Time is the database's. Pages of the console say beside *live* how old their data are; what is
counted before the page is made has its time beside it. "Exact" holds for what is committed: an
attempt that has ended counts once a recorder has written it, within a second where recorders live.
Deleted tasks leave their ended executions, attempts and dead letters in all numbers until these
are removed, and their usage for longer. What the retention has removed from the ledger is in no
number but those of usage.
"""


def render_numbers() -> str:
    """Return the page as Markdown: each number with what it counts, and where it is shown."""
    parts = [f"## {title}\n\n" + "\n".join(map(_part, part)) for title, part in PARTS.items()]
    return "\n".join([_HEAD, *parts])


def _part(one: Number) -> str:
    lines = [
        f"### {one.name}",
        "",
        one.counts,
        "",
        f"- Window: {one.window}",
        f"- Exactness: {one.exact}",
    ]
    for title, places in (
        ("API", one.answers),
        ("Console", one.pages),
        ("Commands", one.commands),
    ):
        if places:
            lines.append(f"- {title}: {', '.join(f'`{place}`' for place in places)}")
    return "\n".join([*lines, ""])
