"""Routes of statistics and of who does the work, under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.stats import views as stats
from api.stats.objectives_views import ObjectivesView
from api.stats.shares_views import SharesView
from api.stats.support_bundle_views import SupportBundleView
from api.stats.usage_views import UsageView
from api.stats.worker_views import TakeoversView, WorkerActionsView

urlpatterns = [
    path("overview", stats.OverviewView.as_view(), name="overview"),
    path("workers", stats.WorkersView.as_view(), name="workers"),
    path("workers/earlier", stats.EarlierWorkersView.as_view(), name="earlier-workers"),
    path("workers/actions", WorkerActionsView.as_view(), name="worker-actions"),
    path("takeovers", TakeoversView.as_view(), name="takeovers"),
    # An id may hold slashes: a worker is named by its process and its host.
    path(
        "workers/<path:worker_id>/history",
        stats.WorkerHistoryView.as_view(),
        name="worker-history",
    ),
    path("schedulers", stats.SchedulersView.as_view(), name="schedulers"),
    path("support-bundle", SupportBundleView.as_view(), name="support-bundle"),
    path("objectives", ObjectivesView.as_view(), name="objectives"),
    path("shares", SharesView.as_view(), name="shares"),
    path("usage", UsageView.as_view(), name="usage"),
    path("stats/throughput", stats.ThroughputView.as_view(), name="stats-throughput"),
]
