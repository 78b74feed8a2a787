"""Routes of saved views under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.saved_views import views

urlpatterns = [
    path("views", views.SavedViewsView.as_view(), name="views"),
    path("views/<uuid:view_id>", views.SavedViewView.as_view(), name="view"),
]
