"""Routes of all that runs, under ``/v1/``: tasks, executions, dead letters, pauses, statistics."""

from __future__ import annotations

from executions.api import (
    bulk_urls,
    calendar_urls,
    destination_urls,
    execution_urls,
    forecast_urls,
    pause_urls,
    pool_urls,
    receiver_urls,
    stats_urls,
    task_urls,
)

urlpatterns = [
    *task_urls.urlpatterns,
    *execution_urls.urlpatterns,
    *bulk_urls.urlpatterns,
    *calendar_urls.urlpatterns,
    *destination_urls.urlpatterns,
    *pause_urls.urlpatterns,
    *pool_urls.urlpatterns,
    *receiver_urls.urlpatterns,
    *stats_urls.urlpatterns,
    *forecast_urls.urlpatterns,
]
