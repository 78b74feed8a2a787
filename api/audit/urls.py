"""Routes of the audit log under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.audit import views

urlpatterns = [
    path("audit", views.AuditView.as_view(), name="audit"),
    path("audit/<uuid:entry_id>", views.AuditEntryView.as_view(), name="audit-entry"),
]
