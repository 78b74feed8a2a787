"""Routes of destinations under ``/v1/``; a host may hold a port, in brackets an address."""

from __future__ import annotations

from django.urls import path

from api.destinations import views as destinations

urlpatterns = [
    path("destinations", destinations.DestinationsView.as_view(), name="destinations"),
    path("destinations/<str:host>", destinations.DestinationView.as_view(), name="destination"),
    path(
        "destinations/<str:host>/reset",
        destinations.ResetDestinationView.as_view(),
        name="destination-reset",
    ),
]
