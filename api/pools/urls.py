"""Routes of pools that workers lease from, under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.pools import views as pools

urlpatterns = [
    path("pools", pools.PoolsView.as_view(), name="pools"),
    path("pools/<str:pool>", pools.PoolView.as_view(), name="pool"),
    path("pools/<str:pool>/lease", pools.LeaseView.as_view(), name="pool-lease"),
]
