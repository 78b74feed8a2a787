"""Lists of the admin that cost the same on a thousand rows and on a hundred million.

A page continues from the last key (``?before=``), never by OFFSET, and counts nothing. A page
searches a bounded number of rows (``WINDOW``): when a rare filter matches none of them, the
page shows how far it has searched and the next page continues from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet, prefetch_related_objects
from django.http import HttpRequest

BEFORE = "before"
#: Maximum number of rows that one page searches.
WINDOW = 50_000


def uuid_or_none(text: str) -> UUID | None:
    """Return the text as an id, if it is one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def newest(rows: QuerySet[Any], size: int = WINDOW) -> QuerySet[Any]:
    """Return the rows bounded to the newest ``size`` of them by primary key."""
    last = _key_at(rows, ("pk",), size)
    return rows if last is None else rows.filter(pk__gte=last[0])


class KeysetChangeList(ChangeList):
    """One page of rows, newest first, from ``?before=`` on."""

    older: str | None = None
    newest_link: str | None = None
    looked_at: int | None = None

    @property
    def _door(self) -> Any:
        """Return the ``ProductAdmin`` whose list this is."""
        return self.model_admin

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        """Return the filtered rows of this page's window, newest first, not cut yet."""
        self.params.pop(BEFORE, None)
        # Links to another filter start at the newest row again.
        self.filter_params.pop(BEFORE, None)
        found = super().get_queryset(request, exclude_parameters)
        found = found.order_by(*_newest_first(self._key))
        before = self._before(request)
        if before is not None:
            found = found.filter(_beyond(self._key, before, "lt"))
        self._window_end = self._end_of_window(before)
        if self._window_end is not None:
            end = dict(zip(self._key, self._window_end, strict=True))
            found = found.filter(_beyond(self._key, self._window_end, "gt") | Q(**end))
        return found

    @property
    def _key(self) -> tuple[str, ...]:
        key: tuple[str, ...] = self._door.list_key
        return key

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
            last = self.result_list[-1]
            self.older = self._older_than(getattr(last, name) for name in self._key)
        elif self._window_end is not None:
            self.looked_at = WINDOW
            self.older = self._older_than(self._window_end)

    def _older_than(self, key: Iterable[Any]) -> str:
        return str(self.get_query_string({BEFORE: ",".join(map(str, key))}))

    def _before(self, request: HttpRequest) -> tuple[Any, ...] | None:
        given = request.GET.get(BEFORE)
        if given is None:
            return None
        try:
            return tuple(
                field.to_python(text)
                for field, text in zip(self._key_fields(), given.split(","), strict=True)
            )
        except (ValidationError, ValueError) as error:
            raise IncorrectLookupParameters(error) from error

    def _key_fields(self) -> list[Any]:
        opts = self.lookup_opts
        return [opts.pk if name == "pk" else opts.get_field(name) for name in self._key]

    def _end_of_window(self, before: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """Return the oldest key that this page searches; None when it searches all rows."""
        if self._door.search_by_key and uuid_or_none(self.query):
            return None
        asked = self.params
        columns = self._door.list_scopes
        scope = {columns[name]: asked[name] for name in columns if name in asked}
        rows = self.model._default_manager.filter(**scope)
        if before is not None:
            rows = rows.filter(_beyond(self._key, before, "lt"))
        return _key_at(rows, self._key, WINDOW)


def _key_at(rows: QuerySet[Any], key: tuple[str, ...], place: int) -> tuple[Any, ...] | None:
    keys = rows.order_by(*_newest_first(key)).values_list(*key)
    return next(iter(keys[place - 1 : place]), None)


def _newest_first(key: tuple[str, ...]) -> list[str]:
    return [f"-{name}" for name in key]


def _beyond(key: tuple[str, ...], values: tuple[Any, ...], way: str) -> Q:
    """Return the condition that a key is less (``lt``) or greater (``gt``) than this one.

    The first field bounds the whole, so that a read of an index on it starts there.
    """
    (name, *names), (value, *others) = key, values
    if not names:
        return Q(**{f"{name}__{way}": value})
    further = _beyond(tuple(names), tuple(others), way)
    return Q(**{f"{name}__{way}e": value}) & (Q(**{f"{name}__{way}": value}) | further)
