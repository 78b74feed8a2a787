"""The admin of every model: bounded lists, read-only fields, nothing sealed on any page.

Fields that a service owns are not edited here. Actions and the few forms call the services that
the API calls, so that audit and fencing hold. A user who may change a model may act on its rows
in every tenant: the admin is the deployment's door.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.utils import get_fields_from_path
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from shared import request_actor
from shared.actor import Actor
from shared.admin.keyset import KeysetChangeList
from shared.admin.site import console_path
from shared.admin.verbs import chosen_keys
from shared.exceptions import PunctualError

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


def actor_of(request: HttpRequest) -> Actor:
    """Return the person behind the request as the audit log names it."""
    return request_actor.actor_of(request, f"user:{request.user.pk}")


def link(path: str, text: Any) -> str:
    """Return a link within the host."""
    return format_html('<a href="{}">{}</a>', path, text)


class ProductAdmin(_ModelAdmin):
    """A list and a page to look at; subclasses add actions, or open fields to editing.

    ``list_key`` names the fields that order the list, newest first, as an index has them;
    ``list_scopes`` the filters that an index serves (parameter -> column);
    ``list_prefetch`` the related rows that a page reads in one query each. With
    ``search_by_key`` an index answers a search for an id, so the search covers every row.
    ``console_kind`` is the kind of console page that shows a row; ``noun`` the singular and
    plural, where Django would make up wrong ones.
    """

    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    sortable_by = ()
    change_list_template = "admin/keyset_change_list.html"
    list_key: tuple[str, ...] = ("pk",)
    list_scopes: dict[str, str] = {}
    list_prefetch: Sequence[str] = ()
    console_kind = ""
    hidden_fields: Sequence[str] = ()
    noun: tuple[str, str] | None = None
    search_by_key = True

    def __init__(self, model: type[models.Model], admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        if self.noun:
            # Words of the pages only; in the model they would need a migration.
            self.opts.verbose_name, self.opts.verbose_name_plural = self.noun

    @admin.display(description="Id")
    def short_id(self, row: Any) -> str:
        """Return the id's last digits, which tell rows apart; the whole id shows on hover."""
        return format_html('<code title="{}">…{}</code>', row.pk, str(row.pk)[-12:])

    @admin.display(description="Console")
    def console(self, row: Any) -> str:
        """Return the link to the row's page in the console."""
        return link(console_path(self.console_kind, row.pk), "Open")

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        """Return the console's page of a row."""
        if obj is None or not self.console_kind:
            return None
        return console_path(self.console_kind, obj.pk)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[KeysetChangeList]:
        """Return the list class that neither counts nor uses OFFSET."""
        return KeysetChangeList

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the rows without sealed and hashed columns, which no page shows."""
        return super().get_queryset(request).defer(*_binary(self.model))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return every column that may be shown."""
        if self.fields:
            return list(self.fields)
        hidden = {*_binary(self.model), *self.hidden_fields}
        return [f.name for f in self.model._meta.concrete_fields if f.name not in hidden]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Return every column: services own them."""
        return self.get_fields(request, obj)

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Find by ``search_fields``: ``=`` exactly, ``^`` by how it begins."""
        text = search_term.strip()
        if not text:
            return queryset, False
        clauses = [clause for name in self.search_fields if (clause := self._clause(name, text))]
        wanted = reduce(or_, clauses, models.Q())
        return (queryset.filter(wanted) if clauses else queryset.none()), False

    def _clause(self, name: str, text: str) -> models.Q | None:
        column = name.removeprefix("^").removeprefix("=")
        if name.startswith("^"):
            return models.Q(**{f"{column}__istartswith": text})
        try:
            value = get_fields_from_path(self.model, column)[-1].to_python(text)
        except ValidationError:
            return None
        return models.Q(**{column: value})

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return the row; None for an id that no row can have."""
        if "\x00" in object_id:
            return None
        return super().get_object(request, object_id, from_field)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Refuse: the product writes these rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: there is nothing to edit."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: history goes by retention, the rest by a service."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow users who may view the model, or change it."""
        return self.has_operate_permission(request) or super().has_view_permission(request, obj)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Allow actions to users who may change the model."""
        opts = self.opts
        return bool(request.user.has_perm(f"{opts.app_label}.change_{opts.model_name}"))

    def actor(self, request: HttpRequest) -> Actor:
        """Return the actor of the request."""
        return actor_of(request)

    def describe(self, row: Any) -> str:
        """Return how a confirmation names the row."""
        return str(row)

    def response_action(
        self, request: HttpRequest, queryset: models.QuerySet[Any], *args: Any
    ) -> HttpResponse | None:
        """Run an action over the rows that were ticked, and over no others."""
        if request.POST.get("select_across") == "1":
            text = "Actions here take one page. Use a bulk job of the console for all that match."
            self.message_user(request, text, messages.WARNING)
            return None
        try:
            keys = chosen_keys(request, self.opts.pk)
        except ValidationError:
            self.message_user(request, "That is not a row of this list.", messages.ERROR)
            return None
        # By key alone: a row may have left the filter since the page was read.
        chosen = self.get_queryset(request).filter(pk__in=keys[: self.list_per_page])
        return super().response_action(request, chosen, *args)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show or save the form; a service's refusal becomes a message."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except PunctualError as refused:
            self.message_user(request, _sentence(refused), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show the list under the plural name of its rows."""
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def list_path(self, **filters: Any) -> str:
        """Return the path of this list under the filters."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        return reverse(name, query=filters or None)


def _binary(model: type[models.Model]) -> list[str]:
    fields = model._meta.concrete_fields
    return [field.name for field in fields if isinstance(field, models.BinaryField)]


def _sentence(refused: PunctualError) -> str:
    errors = getattr(refused, "errors", [])
    # The message is often that of the only error.
    return " ".join(dict.fromkeys([refused.message, *(error.message for error in errors)]))
