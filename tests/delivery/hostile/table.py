"""The whole table, by group; the page of the documentation is written from it."""

from __future__ import annotations

from tests.delivery.hostile import answers, broken, endless, places, slow
from tests.delivery.hostile.rows import Row

GROUPS: dict[str, list[Row]] = {
    "A receiver that takes its time": slow.ROWS,
    "A receiver that sends too much": endless.ROWS,
    "A receiver that breaks HTTP, or breaks off": broken.ROWS,
    "A receiver that cannot be reached": places.ROWS,
    "A receiver that answers": answers.ROWS,
}
ROWS = {row.name: row for rows in GROUPS.values() for row in rows}
