"""Routes of erasures under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.erasures import views as erasures

urlpatterns = [
    path("tasks/<uuid:task_id>/erase", erasures.EraseTaskView.as_view(), name="task-erase"),
    path("erasures", erasures.ErasuresView.as_view(), name="erasures"),
    path("erasures/<uuid:erasure_id>", erasures.ErasureView.as_view(), name="erasure"),
]
