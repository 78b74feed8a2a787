"""Tenants in the admin: create, change, suspend and resume by the services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.forms import ChoiceField
from django.http import HttpRequest

from shared.admin import ProductAdmin, Verb, admin_action
from shared.exceptions import FieldError, Forbidden, InvalidInput
from tenants.admin.users import MembershipInline, save_memberships
from tenants.models import Tenant
from tenants.quotas.limits import BOUNDS
from tenants.services import (
    change_quotas,
    change_tenant,
    create_tenant,
    resume_tenant,
    suspend_tenant,
)
from tenants.services.quotas import tiers
from tenants.services.tenants import SETTINGS

_SETTINGS = (
    "idempotency_required",
    "idempotency_seconds",
    "default_jitter_seconds",
    "second_factor_required",
    "provider_required",
    "unlimited",
)
_QUOTAS = ("tier", "quotas", "weight")

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
        """Ask only for a name and, of superusers, whether there are limits, for a new one."""
        if obj is None:
            return ["name", "unlimited"] if request.user.is_superuser else ["name"]
        return ["id", "name", "created_at", "suspended_at", *_SETTINGS, *_QUOTAS]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Keep what identifies a tenant."""
        if obj is None:
            return []
        # Limits decide how much of the installation a tenant may use: superusers alone change them.
        fixed = [] if request.user.is_superuser else ["unlimited", *_QUOTAS]
        return ["id", "name", "created_at", "suspended_at", *fixed]

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
            changed = {name: form.cleaned_data[name] for name in form.changed_data}
            settings = {name: value for name, value in changed.items() if name in SETTINGS}
            change_tenant(obj.id, settings, actor=self.actor(request))
            self._change_quotas(request, obj, changed)
            return
        made = create_tenant(obj.name, unlimited=obj.unlimited, actor=self.actor(request))
        obj.id = made.id
        messages.info(request, "The tenant has its first signing secret. Add API keys separately.")

    def _change_quotas(self, request: HttpRequest, obj: Any, changed: dict[str, Any]) -> None:
        """Change tier and limits by the service."""
        if not changed.keys() & set(_QUOTAS):
            return
        if not request.user.is_superuser:
            raise Forbidden("Only a superuser changes quotas.")
        wanted = {name: changed[name] for name in ("tier", "weight") if name in changed}
        if "quotas" not in changed:
            change_quotas(obj.id, actor=self.actor(request), **wanted)
            return
        before = Tenant.objects.values_list("quotas", flat=True).get(pk=obj.id)
        given = changed["quotas"] or {}
        if not isinstance(given, dict):
            message = 'Give the quotas as an object, such as {"stored_tasks": 1000}.'
            raise InvalidInput([FieldError("#/quotas", "invalid_type", message)], message)
        gone = tuple(name for name in before if name not in given)
        change_quotas(obj.id, actor=self.actor(request), limits=given, follow=gone, **wanted)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Offer also a tier that ``TIERS`` of this process does not name, where the tenant has it.

        Without it the browser would send the first of the others with any change.
        """
        form = super().get_form(request, obj, change, **kwargs)
        field = form.base_fields.get("tier")
        if isinstance(field, ChoiceField) and obj is not None and obj.tier not in tiers():
            field.choices = [(name, name) for name in (obj.tier, *tiers())]
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the tiers that there are, and name the quotas that may be given."""
        if db_field.name == "tier":
            return ChoiceField(choices=[(name, name) for name in tiers()])
        if db_field.name == "quotas":
            kwargs["help_text"] = (
                f"As JSON, in place of the tier's; null is no limit: {', '.join(BOUNDS)}."
            )
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Set roles by the service."""
        save_memberships(formset, request)
