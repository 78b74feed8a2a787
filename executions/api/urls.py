"""Routes of tasks, executions, dead letters, bulk jobs and statistics under ``/v1/``."""

from __future__ import annotations

from executions.api import bulk_urls, execution_urls, stats_urls, task_urls

urlpatterns = [
    *task_urls.urlpatterns,
    *execution_urls.urlpatterns,
    *bulk_urls.urlpatterns,
    *stats_urls.urlpatterns,
]
