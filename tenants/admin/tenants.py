"""Tenants in the admin: create, change, suspend and resume by the services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest

from shared.admin import ProductAdmin, Verb, admin_action
from tenants.admin.users import MembershipInline, save_memberships
from tenants.models import Tenant
from tenants.services import change_tenant, create_tenant, resume_tenant, suspend_tenant

_SETTINGS = (
    "idempotency_required",
    "idempotency_seconds",
    "default_jitter_seconds",
    "unlimited",
)

SUSPEND = Verb(
    "suspend",
    "Suspend",
    "suspended",
    lambda tenant, actor, options: suspend_tenant(tenant.id, actor=actor),
    skip=lambda tenant: "already suspended" if tenant.suspended_at else "",
    warning="Calls with their keys get 403 from now on, their members are refused, and none of "
    "their executions starts. Executions already running may finish. Their data and schedules "
    "stay.",
)
RESUME = Verb(
    "resume",
    "Resume",
    "resumed",
    lambda tenant, actor, options: resume_tenant(tenant.id, actor=actor),
    skip=lambda tenant: "" if tenant.suspended_at else "not suspended",
)


@admin.register(Tenant)
class TenantAdmin(ProductAdmin):
    """A tenant's name is given once; its settings and members may change."""

    list_display = ("name", "created_at", "suspended_at", "unlimited", "idempotency_required")
    search_fields = ("=id", "^name")
    search_help_text = "Id, or how the name begins."
    actions = (admin_action(SUSPEND), admin_action(RESUME))
    inlines = (MembershipInline,)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Ask only for a name and whether there are limits, for a new one."""
        if obj is None:
            return ["name", "unlimited"]
        return ["id", "name", "created_at", "suspended_at", *_SETTINGS]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Keep what identifies a tenant."""
        return ["id", "name", "created_at", "suspended_at"] if obj else []

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Show the members of an existing tenant."""
        return self.inlines if obj else ()

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Allow users who may add tenants."""
        return bool(request.user.has_perm("tenants.add_tenant"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow users who may change tenants."""
        return self.has_operate_permission(request)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Create or change the tenant by the service."""
        if change:
            settings = {name: form.cleaned_data[name] for name in form.changed_data}
            change_tenant(obj.id, settings, actor=self.actor(request))
            return
        made = create_tenant(obj.name, unlimited=obj.unlimited, actor=self.actor(request))
        obj.id = made.id
        messages.info(request, "The tenant has its first signing secret. Add API keys separately.")

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Set roles by the service."""
        save_memberships(formset, request)
