"""Lists of the admin that cost the same on a thousand rows and on a hundred million.

A page goes on from the last id (``?before=``), never by OFFSET, and nothing is counted. A page
looks through a bounded number of rows (``WINDOW``): when a rare filter finds nothing among
them, the page says how far it has looked and goes on from there.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest

BEFORE = "before"
#: How many rows one page looks through at most.
WINDOW = 50_000


def uuid_or_none(text: str) -> UUID | None:
    """Return the text as an id, if it is one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def newest(rows: QuerySet[Any], size: int = WINDOW) -> QuerySet[Any]:
    """Return the rows bounded to the newest ``size`` of them by primary key."""
    last = _key_at(rows, size)
    return rows if last is None else rows.filter(pk__gte=last)


class KeysetChangeList(ChangeList):
    """One page of rows, newest first, from ``?before=`` on."""

    older: str | None = None
    newest_link: str | None = None
    looked_at: int | None = None

    @property
    def _door(self) -> Any:
        """Return the ``ProductAdmin`` that this is a list of."""
        return self.model_admin

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        """Return the filtered rows of this page's window, newest first, not cut yet."""
        self.params.pop(BEFORE, None)
        # Links to another filter start at the newest row again.
        self.filter_params.pop(BEFORE, None)
        found = super().get_queryset(request, exclude_parameters).order_by("-pk")
        before = self._before(request)
        if before is not None:
            found = found.filter(pk__lt=before)
        self._window_end = self._end_of_window(before)
        if self._window_end is not None:
            found = found.filter(pk__gte=self._window_end)
        return found

    def get_results(self, request: HttpRequest) -> None:
        """Read one page and one row more, which tells whether there are older ones."""
        rows = list(self.queryset[: self.list_per_page + 1])
        self.result_list = rows[: self.list_per_page]
        prefetch_related_objects(self.result_list, *self._door.list_prefetch)
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False
        self.paginator = Paginator(self.result_list, self.list_per_page)
        self._link(request, more=len(rows) > self.list_per_page)

    def _link(self, request: HttpRequest, *, more: bool) -> None:
        if self._before(request) is not None:
            self.newest_link = self.get_query_string()
        if more:
            self.older = self.get_query_string({BEFORE: str(self.result_list[-1].pk)})
        elif self._window_end is not None:
            self.looked_at = WINDOW
            self.older = self.get_query_string({BEFORE: str(self._window_end)})

    def _before(self, request: HttpRequest) -> Any:
        given = request.GET.get(BEFORE)
        if given is None:
            return None
        try:
            return self.lookup_opts.pk.to_python(given)
        except ValidationError as error:
            raise IncorrectLookupParameters(error) from error

    def _end_of_window(self, before: Any) -> Any:
        """Return the oldest id that this page looks at; None when it looks at all there are."""
        if self._door.search_by_key and uuid_or_none(self.query):
            return None
        asked = self.params
        columns = self._door.list_scopes
        scope = {columns[name]: asked[name] for name in columns if name in asked}
        rows = self.model._default_manager.filter(**scope)
        return _key_at(rows if before is None else rows.filter(pk__lt=before), WINDOW)


def _key_at(rows: QuerySet[Any], place: int) -> Any:
    keys = rows.order_by("-pk").values_list("pk", flat=True)
    return next(iter(keys[place - 1 : place]), None)
