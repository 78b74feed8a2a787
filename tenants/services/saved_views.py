"""Saved views of the console's lists: find, make, change, remove. Each change is audited.

A view belongs to one member or is shared with the tenant. Callers check who may change shared
views; here a personal view is found for its own member alone, and a query is kept only if its list
understands it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from events import audit
from shared.actor import Actor
from shared.exceptions import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from shared.hidden_characters import short_name_problem
from shared.strict_json import has_forbidden_character
from tenants import list_queries
from tenants.choices import SavedList
from tenants.models import Membership, SavedView, Tenant

#: Views of one member, and shared ones of a tenant, over all lists.
MOST_OWN = 50
MOST_SHARED = 100
NAME_LENGTH = 80
QUERY_LENGTH = 2000
_KIND = "saved_view"
_FIELDS = ("list", "name", "query", "is_default", "member_id")


class ViewFields(TypedDict, total=False):
    """The fields of a view that a caller gives; others have defaults, or stay."""

    list: str
    name: str
    query: str
    is_default: bool


def list_views(
    tenant_id: UUID, member: int | None = None, of: str | None = None
) -> list[SavedView]:
    """Return the views that a member sees, personal ones first, by list and name.

    Without a member, the shared ones; ``of`` names one list.
    """
    found = _seen(tenant_id, member)
    if of is not None:
        found = found.filter(list=of)
    return sorted(found, key=lambda view: (view.list, view.member_id is None, view.name, view.id))


def get_view(tenant_id: UUID, view_id: UUID, member: int | None = None) -> SavedView:
    """Return a shared view of the tenant or the member's own; raise NotFound."""
    found = _seen(tenant_id, member).filter(pk=view_id).first()
    if found is None:
        raise NotFound("There is no such saved view.")
    return found


def default_view(views: Sequence[SavedView]) -> SavedView | None:
    """Return the default among the views of one list: the member's own before the shared one."""
    defaults = [view for view in views if view.is_default]
    return next((view for view in defaults if view.member_id is not None), None) or next(
        iter(defaults), None
    )


def member_of(tenant_id: UUID, member: int) -> int:
    """Return the id of a member of the tenant; raise InvalidInput."""
    if not Membership.objects.filter(tenant_id=tenant_id, pk=member).exists():
        message = "There is no such member."
        raise InvalidInput([FieldError("#/member", "member_unknown", message)], message)
    return member


@transaction.atomic
def create_view(
    tenant_id: UUID, given: ViewFields, *, member: int | None, actor: Actor
) -> SavedView:
    """Save a view of the member, or a shared one; raise InvalidInput, Conflict, QuotaExceeded."""
    view = SavedView(tenant_id=tenant_id, member_id=member)
    _apply(view, given)
    _lock(tenant_id)
    if member is not None:
        # The race: the member may have left since the caller has looked.
        member_of(tenant_id, member)
    most = MOST_SHARED if member is None else MOST_OWN
    if SavedView.objects.filter(tenant_id=tenant_id, member_id=member).count() >= most:
        whose = "A tenant shares" if member is None else "A member has"
        raise QuotaExceeded(f"{whose} at most {most} saved views. Remove one first.")
    _refuse_taken(view)
    _take_default(view)
    view.save(force_insert=True)
    view.refresh_from_db()
    audit.record(tenant_id, actor, "saved_view.created", _KIND, view.id, after=_facts(view))
    return view


@transaction.atomic
def update_view(
    tenant_id: UUID,
    view_id: UUID,
    given: ViewFields,
    *,
    member: int | None,
    actor: Actor,
    expected_version: int | None = None,
) -> SavedView:
    """Change a view; fields left out stay.

    Raise NotFound, InvalidInput, VersionMismatch, and Conflict ``name_taken``.
    """
    _lock(tenant_id)
    view = _locked(tenant_id, view_id, member, expected_version)
    before = _facts(view)
    if given.get("list", view.list) != view.list:
        _refuse("list", "immutable", "The list stays; save another view.")
    _apply(view, given)
    if _facts(view) == before:
        return view
    _refuse_taken(view)
    _take_default(view)
    view.version += 1
    view.updated_at = Now()
    view.save()
    view.refresh_from_db()
    audit.record(tenant_id, actor, "saved_view.updated", _KIND, view.id, before, _facts(view))
    return view


@transaction.atomic
def remove_view(
    tenant_id: UUID,
    view_id: UUID,
    *,
    member: int | None,
    actor: Actor,
    expected_version: int | None = None,
) -> None:
    """Remove a view; raise NotFound and VersionMismatch."""
    _lock(tenant_id)
    view = _locked(tenant_id, view_id, member, expected_version)
    before = _facts(view)
    view.delete()
    audit.record(tenant_id, actor, "saved_view.removed", _KIND, view_id, before=before)


def _seen(tenant_id: UUID, member: int | None) -> QuerySet[SavedView]:
    whose = Q(member_id=None) if member is None else Q(member_id=None) | Q(member_id=member)
    return SavedView.objects.filter(whose, tenant_id=tenant_id)


def _lock(tenant_id: UUID) -> None:
    # The races: two saves would each count one view less, or make two defaults of one list.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)


def _locked(
    tenant_id: UUID, view_id: UUID, member: int | None, expected_version: int | None
) -> SavedView:
    view = get_view(tenant_id, view_id, member)
    if expected_version is not None and expected_version != view.version:
        raise VersionMismatch(
            f"The view is at version {view.version}, not {expected_version}; read it again."
        )
    return view


def _apply(view: SavedView, given: ViewFields) -> None:
    """Give the view the fields; raise InvalidInput with every bad one."""
    for field, value in given.items():
        setattr(view, field, value)
    errors: list[FieldError] = []
    if view.list not in SavedList.values:
        words = ", ".join(SavedList.values)
        errors.append(FieldError("#/list", "invalid_choice", f"Give one of {words}."))
    if problem := short_name_problem(view.name, NAME_LENGTH):
        errors.append(FieldError("#/name", *problem))
    if "query" in given:
        errors += _of_query(view)
    if errors:
        raise InvalidInput(errors)


def _of_query(view: SavedView) -> list[FieldError]:
    """Bring the query into the form in which views keep it; return what is wrong with it."""
    if has_forbidden_character(view.query):
        return [FieldError("#/query", "invalid_characters", "Give a query as in an address.")]
    message = f"Give a query as in an address, of at most {QUERY_LENGTH} characters."
    too_long = [FieldError("#/query", "too_long", message)]
    # Before it is read: each unknown name is compared with the known ones, for a suggestion.
    if len(view.query) > QUERY_LENGTH:
        return too_long
    try:
        view.query = list_queries.read(view.list, view.query)
    except InvalidInput as refused:
        return refused.errors
    return too_long if len(view.query) > QUERY_LENGTH else []


def _refuse_taken(view: SavedView) -> None:
    if _siblings(view).filter(name=view.name).exists():
        message = f"There is a view {view.name!r} of this list already. Choose another name."
        raise Conflict(message, code="name_taken")


def _take_default(view: SavedView) -> None:
    """Take the default from another view of the same list and owner."""
    if view.is_default:
        _siblings(view).filter(is_default=True).update(
            is_default=False, version=F("version") + 1, updated_at=Now()
        )


def _siblings(view: SavedView) -> QuerySet[SavedView]:
    found = SavedView.objects.filter(tenant_id=view.tenant_id, list=view.list)
    return found.filter(member_id=view.member_id).exclude(pk=view.pk)


def _refuse(field: str, code: str, message: str) -> None:
    raise InvalidInput([FieldError(f"#/{field}", code, message)], message)


def _facts(view: SavedView) -> dict[str, Any]:
    return {field: getattr(view, field) for field in _FIELDS}
