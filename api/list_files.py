"""Lists as files: ``format=csv`` or ``format=jsonl``, or the types in Accept.

A file has the rows of the list, by the same filters, order and rights, in columns without payloads
(``insight.presentation.list_files``). One answer has at most MOST_ROWS, so that it takes little
memory; its header ``Link`` leads to the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from api.protocol.pagination import cursor_after, values_of
from api.protocol.query import choice
from insight.presentation.list_files import LIST_FILES, rows_of_file
from shared.exceptions import FieldError, InvalidInput
from shared.keyset import each_page
from shared.table_files import MEDIA_TYPES, lines_as

#: The types that lists offer besides JSON.
FILES = tuple(MEDIA_TYPES.values())
#: Rows of one answer.
MOST_ROWS = 10_000
#: The parameter of lists that are also files.
FORMAT = choice(
    "json",
    *MEDIA_TYPES,
    description=f"Of the answer; Accept decides otherwise. Files have up to {MOST_ROWS:,} rows, or "
    "`limit`, without payloads; their header `Link` leads to the next ones.",
)


def file_answer(
    request: HttpRequest,
    of: str,
    rows: QuerySet[Any],
    query: Mapping[str, Any],
    *,
    format_: str,
    order: Sequence[str],
    parts: Sequence[QuerySet[Any]] = (),
) -> HttpResponse:
    """Return the rows of a list as a file; raise InvalidInput for a page by number."""
    if query["page"] is not None:
        message = "A file continues by cursor: leave page out."
        raise InvalidInput([FieldError("?page", "invalid", message)], message)
    most = min(query["limit"] or MOST_ROWS, MOST_ROWS)
    behind = values_of(query["cursor"], order)
    pages = each_page(rows, order=order, parts=parts, behind=behind)
    taken = _Taken(islice((row for page in pages for row in page), most + 1), most)
    answer = HttpResponse(
        "".join(lines_as(format_, LIST_FILES[of].columns, rows_of_file(of, taken))),
        content_type=f"{MEDIA_TYPES[format_]}; charset=utf-8",
    )
    answer["Content-Disposition"] = f'attachment; filename="{of}.{format_}"'
    answer["Cache-Control"] = "no-store"
    if taken.has_more:
        further = request.GET.copy()
        further["cursor"] = cursor_after(taken.last, order)
        further["format"] = format_
        answer["Link"] = f'<{request.path}?{further.urlencode()}>; rel="next"'
    return answer


class _Taken(Iterator[Any]):
    """The first rows of some, and whether there are more."""

    def __init__(self, rows: Iterator[Any], most: int) -> None:
        self._rows, self._left = rows, most
        self.last: Any = None
        self.has_more = False

    def __next__(self) -> Any:
        row = next(self._rows)
        if not self._left:
            self.has_more = True
            raise StopIteration
        self._left -= 1
        self.last = row
        return row
