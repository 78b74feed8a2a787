"""Lists of commands as files on standard output: ``--csv``, and ``--jsonl`` of the verb.

The rows and columns are those of the API's files; all that match are written, a page of them in
memory at a time, unless ``--limit`` says fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from insight.presentation.list_files import LIST_FILES, rows_of_file
from shared.keyset import each_page
from shared.table_files import csv_lines

#: Rows of a list that is no file.
SHOWN = 50


def add_file_options(parser: CommandParser) -> None:
    """Add ``--csv`` and ``--limit``."""
    parser.add_argument("--csv", action="store_true", help="print a table as CSV")
    parser.add_argument(
        "--limit", type=int, help=f"at most this many ({SHOWN}; all with --csv or --jsonl)"
    )


def shown_limit(options: Mapping[str, Any]) -> int:
    """Return how many rows a list shows that is no file."""
    return SHOWN if options["limit"] is None else max(0, options["limit"])


def print_file(
    command: Any,
    options: Mapping[str, Any],
    of: str,
    rows: QuerySet[Any],
    *,
    order: Sequence[str],
    parts: Sequence[QuerySet[Any]] = (),
) -> bool:
    """Print the rows where a file is asked for; return whether it was."""
    if not (options["csv"] or options["jsonl"]):
        return False
    limit = options["limit"]
    chosen = (row for page in each_page(rows, order=order, parts=parts) for row in page)
    documents = rows_of_file(of, chosen if limit is None else islice(chosen, max(0, limit)))
    columns = LIST_FILES[of].columns
    if options["csv"]:
        for line in csv_lines(columns, documents):
            command.stdout.write(line, ending="")
        return True
    for document in documents:
        command.emit_line({name: document[name] for name in columns})
    return True
