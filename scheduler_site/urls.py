"""The site's routes."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from api import scraping
from dashboard import one_time_login
from operations import health

urlpatterns = [
    path("login/<int:user_id>/<str:token>", one_time_login.one_time_login, name="one-time-login"),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", scraping.metrics, name="metrics"),
    path("v1/", include("api.urls")),
    # One login for all pages, with its throttle.
    path("admin/login/", RedirectView.as_view(pattern_name="dashboard:login", query_string=True)),
    # One page to change a password, which asks for the present one and ends the other sessions.
    path("admin/password_change/", RedirectView.as_view(pattern_name="dashboard:account")),
    path("admin/", admin.site.urls),
    path("", include("notifications.urls")),
    path("", include("dashboard.urls")),
]

handler404 = "dashboard.views.errors.page_not_found"
handler500 = "dashboard.views.errors.server_error"
