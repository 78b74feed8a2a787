"""The ``/v1/`` routes: each app's own, put together."""

from __future__ import annotations

from importlib.util import find_spec

from django.urls import include, path

urlpatterns = [
    path("", include(module))
    for module in (
        "tenants.api.urls",
        "executions.api.urls",
        "tasks.api.urls",
        "notifications.api.urls",
        "shared.api.urls",
    )
    if find_spec(module)
]
