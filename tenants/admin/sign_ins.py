"""Sessions and second factors of people in the admin: to look at, without what is secret."""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tenants.models import Identity, RecoveryCode, SecondFactor, SignIn


@admin.register(SignIn)
class SignInAdmin(ProductAdmin):
    """The sessions of people; `manage.py accounts end-sessions` ends them."""

    list_display = (
        "id",
        "user",
        "method",
        "address",
        "began_at",
        "seen_at",
        "ended_at",
        "ended_by",
    )
    list_prefetch = ("user",)
    noun = ("session of a person", "sessions of people")


@admin.register(SecondFactor)
class SecondFactorAdmin(ProductAdmin):
    """The second factors; `manage.py accounts reset-second-factor` removes one."""

    list_display = ("user", "created_at", "confirmed_at", "tries")
    list_prefetch = ("user",)


@admin.register(RecoveryCode)
class RecoveryCodeAdmin(ProductAdmin):
    """The recovery codes: which are used."""

    list_display = ("id", "factor", "used_at")
    list_prefetch = ("factor",)
    hidden_fields = ("code_hash",)


@admin.register(Identity)
class IdentityAdmin(ProductAdmin):
    """The identities of people at OpenID providers; `manage.py accounts unlink` removes one."""

    list_display = ("id", "user", "issuer", "email", "created_at", "used_at")
    list_prefetch = ("user",)
    noun = ("identity at an OpenID provider", "identities at OpenID providers")
