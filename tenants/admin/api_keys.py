"""API keys in the admin: made by the service, shown once, revoked by an action."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from shared import database_clock
from shared.admin import ProductAdmin, Verb, admin_action
from shared.exceptions import InvalidInput
from shared.networks import read_networks
from tenants.admin.filters import TenantFilter
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import ApiKey
from tenants.services import create_api_key, revoke_api_key

REVOKE = Verb(
    "revoke",
    "Revoke",
    "revoked",
    lambda key, actor, options: revoke_api_key(key.tenant_id, key.id, actor=actor, by=OPERATOR),
    skip=lambda key: "already revoked" if key.revoked_at else "",
    warning="Calls with them are refused from now on. A revoked key never becomes valid again.",
)


class ApiKeyForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """The name, tenant, scopes and end of a new key."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES], widget=forms.CheckboxSelectMultiple
    )

    # One field in place of Django's two, of which only the first has a label.
    expires_at = forms.DateTimeField(
        required=False,
        help_text="In UTC; empty for a key that does not expire.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )

    # Text in place of the field of the array, which has no errors by network.
    addresses = forms.CharField(
        required=False,
        max_length=4000,
        help_text="Addresses and networks (CIDR) that may use the key, apart by blanks or commas; "
        "empty: every address.",
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "name", "scopes", "owner", "addresses", "expires_at")
        help_texts = {"owner": "May see signing secrets again."}

    def clean_addresses(self) -> list[str]:
        """Return the networks, each in its one spelling."""
        words = self.cleaned_data["addresses"].replace(",", " ").split()
        try:
            return read_networks(words)
        except InvalidInput as error:
            raise forms.ValidationError([one.message for one in error.errors]) from error

    def clean_expires_at(self) -> datetime | None:
        """Refuse an end that has passed already."""
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= database_clock.now():
            raise forms.ValidationError("This time is past.")
        return value


@admin.register(ApiKey)
class ApiKeyAdmin(ProductAdmin):
    """Keys by the prefix that people know them by; their text is not stored."""

    form = ApiKeyForm
    noun = ("API key", "API keys")
    list_display = (
        "name", "prefix", "tenant", "scope_words", "created_at", "expires_at", "last_used_at",
        "revoked_at",
    )  # fmt: skip
    list_filter = (TenantFilter,)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^prefix", "^name")
    search_help_text = "Id, or how the prefix or the name begins."
    raw_id_fields = ("tenant",)
    actions = (admin_action(REVOKE),)

    @admin.display(description="Scopes")
    def scope_words(self, key: ApiKey) -> str:
        """Return what the key may do."""
        return ", ".join(key.scopes)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Ask for the fields of a new key; show all but the hash of an existing one."""
        if obj is not None:
            return super().get_fields(request, obj)
        # An owner's key may do more than the admin lets its staff do.
        kept = () if request.user.is_superuser else ("owner",)
        return [name for name in ApiKeyForm.Meta.fields if name not in kept]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Keep a key as it was made."""
        return [] if obj is None else super().get_fields(request, obj)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Allow users who may add keys."""
        return bool(request.user.has_perm("tenants.add_apikey"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Make the key by the service; its text stays with the object for the answer."""
        made, text = create_api_key(
            obj.tenant,
            name=obj.name,
            scopes=obj.scopes,
            owner=obj.owner,
            addresses=obj.addresses,
            expires_at=obj.expires_at,
            actor=self.actor(request),
            by=OPERATOR,
        )
        obj.id, obj.prefix, obj.text = made.id, made.prefix, text

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the key in this answer only: no message, session or log holds it."""
        context = {
            **self.admin_site.each_context(request),
            "title": "API key created",
            "opts": self.opts,
            "key": obj,
            "text": obj.text,
        }
        return TemplateResponse(request, "admin/api_key_created.html", context)
