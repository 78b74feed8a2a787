"""People in the admin: Django's own pages of users and groups, with roles in tenants.

The service writes roles, so that the tenant's audit log says who gave them. Superusers alone give
rights: a user who may change users or groups could otherwise give rights to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from shared.admin import ProductAdmin, actor_of
from tenants.admin.filters import TenantFilter
from tenants.choices import ROLES_THAT_SEE, SignInEnd
from tenants.models import Membership, RecoveryCode, SecondFactor, SignIn
from tenants.services import remove_member, set_member
from tenants.services.accounts import (
    RIGHTS,
    describe_account,
    describe_group,
    may_change_account,
    record_change,
    record_password,
)
from tenants.services.sign_ins import end_sign_ins

#: A plain path, since the console is the layer above.
_OWN_ACCOUNT = "/account"

if TYPE_CHECKING:
    _Inline = admin.TabularInline[Membership, Any]
    _UserAdmin = UserAdmin[User]
    _GroupAdmin = GroupAdmin
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _Inline = admin.TabularInline
    _UserAdmin = UserAdmin
    _GroupAdmin = GroupAdmin
    _ModelAdmin = object


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A role, which brings the right to see payloads where it always has it."""

    def clean(self) -> dict[str, Any]:
        """Give the right with the roles of admins and owners."""
        data = super().clean() or self.cleaned_data
        if data.get("role") in ROLES_THAT_SEE:
            data["sees_payloads"] = True
        return data


class MembershipInline(_Inline):
    """The roles of one person, or in one tenant."""

    model = Membership
    form = MembershipForm
    extra = 0
    raw_id_fields = ("user", "tenant")
    fields = ("user", "tenant", "role", "sees_payloads")


@admin.register(Membership)
class MembershipAdmin(ProductAdmin):
    """Who may do what where; edited on the page of the user or of the tenant."""

    list_display = ("user", "tenant", "role", "sees_payloads", "created_at")
    list_filter = (TenantFilter, "role")
    list_prefetch = ("user", "tenant")
    search_fields = ("^user__username",)
    search_help_text = "How the user name begins."


class _Audited(_ModelAdmin):
    """Records what was created, changed and deleted, with the rows that belong to it."""

    audited_kind: str

    def describe_row(self, row: Any) -> dict[str, Any]:
        """Return what the audit keeps of a row as it is stored."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and keep the earlier state for the audit."""
        form.audited_before = self._stored(obj) if change else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save what belongs to the row, and record what differs."""
        super().save_related(request, form, formsets, change)
        self._record(request, form.instance.pk, form.audited_before, self._stored(form.instance))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete and record it."""
        key, before = obj.pk, self._stored(obj)
        super().delete_model(request, obj)
        self._record(request, key, before, None)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Delete the chosen rows and record each."""
        before = {row.pk: self.describe_row(row) for row in queryset}
        with transaction.atomic():
            super().delete_queryset(request, queryset)
            for key, described in before.items():
                self._record(request, key, described, None)

    def _stored(self, row: Any) -> dict[str, Any]:
        return self.describe_row(self.model._default_manager.get(pk=row.pk))

    def _record(self, request: HttpRequest, key: int, before: Any, after: Any) -> None:
        record_change(self.audited_kind, key, before, after, actor=actor_of(request))


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class MemberAdmin(_Audited, _UserAdmin):
    """Django's own, with roles, and without counting the whole table."""

    inlines = (MembershipInline,)
    show_full_result_count = False
    audited_kind = "user"

    def describe_row(self, row: User) -> dict[str, Any]:
        """Return everything but the password."""
        return describe_account(row)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save, and end the sessions of an account that is no longer active."""
        super().save_model(request, obj, form, change)
        if change and form.audited_before["is_active"] and not obj.is_active:
            end_sign_ins(obj.pk, SignInEnd.ENDED, actor=actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Let sessions and the second factor go with their account: no other door deletes them."""
        deleted, counts, needed, kept = super().get_deleted_objects(objs, request)
        own = {model._meta.verbose_name for model in (SignIn, SecondFactor, RecoveryCode)}
        return deleted, counts, set(needed) - own, kept

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Let superusers alone change the fields that decide over rights."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, *RIGHTS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow users who may change users, for accounts without rights beyond theirs."""
        return super().has_change_permission(request, obj) and self._reaches(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow users who may delete users, for accounts without rights beyond theirs."""
        return super().has_delete_permission(request, obj) and self._reaches(request, obj)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,
        form_url: str = "",
    ) -> HttpResponse:
        """Set another person's password, record that it was set, and end their sessions.

        One's own is changed on the page of the account, which asks for the present one.
        """
        with transaction.atomic():
            # As Django reads the address, which has many spellings of one number.
            before = self.get_object(request, unquote(id))
            if before is not None and before.pk == request.user.pk:
                return redirect(_OWN_ACCOUNT)
            answer = super().user_change_password(request, id, form_url)
            after = before and User.objects.get(pk=before.pk)
            if before and after and before.password != after.password:
                record_password(after, actor=actor_of(request))
                end_sign_ins(after.pk, SignInEnd.PASSWORD, actor=actor_of(request))
        return answer

    def _reaches(self, request: HttpRequest, obj: Any) -> bool:
        return obj is None or may_change_account(request.user, obj)  # type: ignore[arg-type]  # signed in

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Show the roles of an existing user."""
        return self.inlines if obj else ()

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Set roles by the service."""
        save_memberships(formset, request)


@admin.register(Group)
class PermissionGroupAdmin(_Audited, _GroupAdmin):
    """Django's own; a group gives rights, so that superusers alone change it."""

    audited_kind = "group"

    def describe_row(self, row: Group) -> dict[str, Any]:
        """Return the name and the permissions."""
        return describe_group(row)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Allow superusers."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow superusers."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow superusers."""
        return bool(request.user.is_superuser)


def save_memberships(formset: Any, request: HttpRequest) -> None:
    """Apply a formset of memberships by the service.

    Raise PermissionDenied where staff gives itself a role: superusers alone may.
    """
    actor = actor_of(request)
    changed = formset.save(commit=False)
    if not request.user.is_superuser and any(row.user_id == request.user.pk for row in changed):
        raise PermissionDenied
    deleted = list(formset.deleted_objects)
    kept = {(row.tenant_id, row.user_id) for row in changed}
    # A row that was given another tenant or user leaves the one that it had.
    stored = Membership.objects.filter(pk__in=[row.pk for row in changed if row.pk])
    moved = [row for row in stored if (row.tenant_id, row.user_id) not in kept]
    for row in (*deleted, *moved):
        remove_member(row.tenant_id, row.user_id, actor=actor)
    for row in changed:
        set_member(
            row.tenant_id,
            row.user_id,
            row.role,
            sees_payloads=row.sees_payloads,
            actor=actor,
        )
