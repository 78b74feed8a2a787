"""Encryption keys: which data keys a tenant has, and how far its values are sealed anew."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from executions.resealing.passes import passes_of_tenant, rotate
from tenants.choices import Role
from tenants.models import DataKey, Resealing


@page(Role.ADMIN)
def encryption_keys(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's data keys, newest first, and show how far the last rotation has come."""
    tenant = request.visitor.tenant.pk
    last = Resealing.objects.filter(tenant_id=tenant).order_by("-begun_at").first()
    columns = len(passes_of_tenant())
    context = {
        "keys": DataKey.objects.filter(tenant_id=tenant).order_by("-generation"),
        "resealing": last,
        "columns": columns,
        "share": 0 if last is None else 100 * last.columns_done // columns,
        "may_rotate": request.visitor.may(Role.OWNER),
    }
    return render(request, "dashboard/encryption_keys.html", context)


@action(Role.OWNER)
def rotate_key(request: ConsoleRequest) -> Done:
    """Make a new data key and begin to seal stored values anew under it."""
    visitor = request.visitor
    rotate(visitor.tenant.pk, actor=visitor.actor)
    url = reverse("dashboard:encryption_keys")
    return Done("A new key seals. Stored values are being sealed anew.", url, settled=False)
