"""People in the admin: Django's own page of a user, with the roles they have in tenants.

Roles are written by the service, so that the tenant's audit log says who gave them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

from shared.actor import Actor
from shared.admin import ProductAdmin, actor_of
from tenants.admin.filters import TenantFilter
from tenants.models import Membership
from tenants.services import remove_member, set_member

if TYPE_CHECKING:
    _Inline = admin.TabularInline[Membership, Any]
    _UserAdmin = UserAdmin[User]
else:
    _Inline = admin.TabularInline
    _UserAdmin = UserAdmin


class MembershipInline(_Inline):
    """The roles of one person, or in one tenant."""

    model = Membership
    extra = 0
    raw_id_fields = ("user", "tenant")
    fields = ("user", "tenant", "role")


@admin.register(Membership)
class MembershipAdmin(ProductAdmin):
    """Who may do what where; edited on the page of the user or of the tenant."""

    list_display = ("user", "tenant", "role", "created_at")
    list_filter = (TenantFilter, "role")
    list_prefetch = ("user", "tenant")
    search_fields = ("^user__username",)
    search_help_text = "How the user name begins."


admin.site.unregister(User)


@admin.register(User)
class MemberAdmin(_UserAdmin):
    """Django's own, with roles, and without counting the whole table."""

    inlines = (MembershipInline,)
    show_full_result_count = False

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Show roles of a user who is there."""
        return self.inlines if obj else ()

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Set roles by the service."""
        save_memberships(formset, actor_of(request))


def save_memberships(formset: Any, actor: Actor) -> None:
    """Bring what a formset of memberships asks for to the service."""
    changed = formset.save(commit=False)
    deleted = list(formset.deleted_objects)
    kept = {(row.tenant_id, row.user_id) for row in changed}
    # A row that was given another tenant or user leaves the one that it had.
    stored = Membership.objects.filter(pk__in=[row.pk for row in changed if row.pk])
    moved = [row for row in stored if (row.tenant_id, row.user_id) not in kept]
    for row in (*deleted, *moved):
        remove_member(row.tenant_id, row.user_id, actor=actor)
    for row in changed:
        set_member(row.tenant_id, row.user_id, row.role, actor=actor)
