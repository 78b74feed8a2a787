"""Archives as tests make them, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from executions.ledger.archive import parts
from executions.ledger.archive.parts import Facts, Part

DAY = "2026-01-05"
COLUMNS = {"id": "uuid", "task_id": "uuid", "status": "character varying"}


def name_of(number: int) -> str:
    """Return the id with this number."""
    return str(UUID(int=number))


def facts(*, final: bool = True, columns: dict[str, str] | None = None) -> Facts:
    """Return what a manifest says of the rows."""
    return Facts(columns or COLUMNS, {"executions": "0001"}, final, "2026-04-05T00:00:00.000Z")


def csv_of(rows: Sequence[tuple[str | None, ...]], columns: dict[str, str] | None = None) -> bytes:
    """Return rows as PostgreSQL writes them, below the heading."""
    lines = [",".join(columns or COLUMNS)]
    for row in rows:
        quoted = ("" if text is None else '"{}"'.format(text.replace('"', '""')) for text in row)
        lines.append(",".join(quoted))
    return "".join(f"{line}\n" for line in lines).encode()


def write(
    root: Path, rows: Sequence[tuple[str | None, ...]], *, table: str = "executions", **said: Any
) -> Part:
    """Write a part of the day."""
    told = facts(**said)
    with parts.writing(root, table, DAY) as writer:
        writer.write(csv_of(rows, told.columns))
        return writer.finish(len(rows), told)


def execution(number: int, status: str = "SUCCEEDED", task: int = 1) -> tuple[str | None, ...]:
    """Return a row of the default columns."""
    return name_of(number), name_of(task), status


def files_in(root: Path) -> list[str]:
    """Return every file of an archive, by path from its root."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
