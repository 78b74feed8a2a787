"""Routes of the forecast under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.forecast import month_views
from api.forecast import views as views

urlpatterns = [
    path("forecast", views.ForecastView.as_view(), name="forecast"),
    path("forecast/month", month_views.MonthView.as_view(), name="forecast-month"),
    path("forecast/spread", views.SpreadView.as_view(), name="forecast-spread"),
    path("tasks/<uuid:task_id>/preview", views.PreviewEditView.as_view(), name="task-preview"),
]
