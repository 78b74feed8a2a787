"""The console's routes; each group of pages has a module of views of its own."""

from __future__ import annotations

from django.urls import path

from dashboard.views import (
    alerts,
    bulk_jobs,
    calendars,
    dead_letters,
    destinations,
    execution_log,
    executions,
    explain,
    forecast,
    overview,
    pauses,
    pools,
    search,
    session,
    settings,
    task_backfill,
    task_form,
    task_preview,
    tasks,
    workers,
    zones,
)
from dashboard.views.workflows import checking, control, editing, list_editor, listing, one, run

app_name = "dashboard"
_RUN = "workflow-runs/<uuid:run_id>"

urlpatterns = [
    path("login", session.SignIn.as_view(), name="login"),
    path("logout", session.sign_out, name="logout"),
    path("tenant", session.choose_tenant, name="choose_tenant"),
    path("pulse", session.pulse, name="pulse"),
    path("search", search.search, name="search"),
    # overview
    path("", overview.overview, name="overview"),
    # tasks
    path("tasks", tasks.tasks, name="tasks"),
    path("tasks/new", task_form.task_new, name="task_new"),
    path("tasks/preview", task_preview.schedule_preview, name="schedule_preview"),
    path("tasks/test", task_form.task_test, name="task_test"),
    path("tasks/<uuid:task_id>", tasks.task, name="task"),
    path("tasks/<uuid:task_id>/edit", task_form.task_edit, name="task_edit"),
    path("tasks/<uuid:task_id>/pause", tasks.pause, name="task_pause"),
    path("tasks/<uuid:task_id>/resume", tasks.resume, name="task_resume"),
    path("tasks/<uuid:task_id>/run", tasks.run, name="task_run"),
    path("tasks/<uuid:task_id>/backfill", task_backfill.task_backfill, name="task_backfill"),
    path("tasks/<uuid:task_id>/backfill/begin", task_backfill.begin, name="task_backfill_begin"),
    path("tasks/<uuid:task_id>/cancel", tasks.cancel, name="task_cancel"),
    path("tasks/<uuid:task_id>/explain", explain.task_explain, name="task_explain"),
    path("tasks/<uuid:task_id>/occurrences", explain.task_occurrences, name="task_occurrences"),
    path("tasks/<uuid:task_id>/delete", tasks.delete, name="task_delete"),
    path("tasks/<uuid:task_id>/rollback", tasks.rollback, name="task_rollback"),
    # the coming load
    path("calendar", forecast.calendar, name="forecast"),
    path("calendar/spread", forecast.spread, name="forecast_spread"),
    path("calendar/spread/create", forecast.spread_create, name="forecast_spread_create"),
    # workflows and their runs
    path("workflows", listing.workflows, name="workflows"),
    path("workflows/new", editing.workflow_new, name="workflow_new"),
    path("workflows/check", checking.workflow_check, name="workflow_check"),
    path("workflows/list", list_editor.workflow_list, name="workflow_list"),
    path("workflows/<uuid:task_id>", one.workflow, name="workflow"),
    path("workflows/<uuid:task_id>/edit", editing.workflow_edit, name="workflow_edit"),
    path("workflows/<uuid:task_id>/start", one.start, name="workflow_start"),
    path(_RUN, run.run, name="workflow_run"),
    path(f"{_RUN}/cancel", control.cancel, name="workflow_run_cancel"),
    path(f"{_RUN}/pause", control.pause, name="workflow_run_pause"),
    path(f"{_RUN}/resume", control.resume, name="workflow_run_resume"),
    path(f"{_RUN}/retry", control.retry, name="workflow_run_retry"),
    path(f"{_RUN}/steps/<str:key>", run.step, name="workflow_step"),
    path(f"{_RUN}/steps/<str:key>/skip", control.skip, name="workflow_step_skip"),
    path(f"{_RUN}/steps/<str:key>/succeed", control.succeed, name="workflow_step_succeed"),
    path(f"{_RUN}/steps/<str:key>/decide", control.decide, name="workflow_step_decide"),
    # executions
    path("executions", executions.executions, name="executions"),
    path("executions/<uuid:execution_id>", executions.execution, name="execution"),
    path("executions/<uuid:execution_id>/log", execution_log.execution_log, name="execution_log"),
    path("executions/<uuid:execution_id>/cancel", executions.cancel, name="execution_cancel"),
    path("executions/<uuid:execution_id>/retry", executions.retry, name="execution_retry"),
    path(
        "executions/<uuid:execution_id>/explain",
        explain.execution_explain,
        name="execution_explain",
    ),
    # dead letters and bulk jobs
    path("dead-letters", dead_letters.dead_letters, name="dead_letters"),
    path("dead-letters/<uuid:letter_id>", dead_letters.dead_letter, name="dead_letter"),
    path("dead-letters/<uuid:letter_id>/retry", dead_letters.retry, name="dead_letter_retry"),
    path("dead-letters/<uuid:letter_id>/resolve", dead_letters.resolve, name="dead_letter_resolve"),
    path("dead-letters/<uuid:letter_id>/archive", dead_letters.archive, name="dead_letter_archive"),
    path("dead-letters/<uuid:letter_id>/purge", dead_letters.purge, name="dead_letter_purge"),
    path("bulk-jobs", bulk_jobs.bulk_jobs, name="bulk_jobs"),
    path("bulk-jobs/new", bulk_jobs.bulk_new, name="bulk_new"),
    path("bulk-jobs/create", bulk_jobs.bulk_create, name="bulk_create"),
    path("bulk-jobs/<uuid:job_id>", bulk_jobs.bulk_job, name="bulk_job"),
    path("bulk-jobs/<uuid:job_id>/cancel", bulk_jobs.cancel, name="bulk_job_cancel"),
    # standing pauses
    path("pauses", pauses.pauses, name="pauses"),
    path("pauses/create", pauses.create, name="pause_create"),
    path("pauses/<uuid:pause_id>/end", pauses.end, name="pause_end"),
    # destinations of webhooks
    path("destinations", destinations.destinations, name="destinations"),
    path("destinations/<str:host>", destinations.destination, name="destination"),
    path("destinations/<str:host>/limits", destinations.limits, name="destination_limits"),
    path("destinations/<str:host>/reset", destinations.reset, name="destination_reset"),
    # workers and schedulers
    path("pools", pools.pools, name="pools"),
    path("pools/new/create", pools.create, name="pool_create"),
    path("pools/<str:name>", pools.pool, name="pool"),
    path("pools/<str:name>/pause", pools.pause, name="pool_pause"),
    path("pools/<str:name>/resume", pools.resume, name="pool_resume"),
    path("pools/<str:name>/limit", pools.limit, name="pool_limit"),
    path("pools/<str:name>/delete", pools.delete, name="pool_delete"),
    path("workers", workers.workers, name="workers"),
    path("workers/earlier", workers.earlier_workers, name="workers_earlier"),
    path("workers/<path:worker_id>", workers.worker, name="worker"),
    # alerts and settings
    path("alerts", alerts.alerts, name="alerts"),
    path("alerts/recent", alerts.recent, name="recent_alerts"),
    path("alerts/<uuid:alert_id>", alerts.alert, name="alert"),
    path("alerts/<uuid:alert_id>/mute", alerts.mute, name="alert_mute"),
    path("settings", settings.settings, name="settings"),
    path("settings/save", settings.save, name="settings_save"),
    path("settings/tenant", settings.save_tenant, name="settings_tenant"),
    path("settings/idempotency", settings.save_idempotency, name="settings_idempotency"),
    path("settings/calendars", calendars.calendars, name="calendars"),
    path("settings/calendars/new", calendars.calendar_new, name="calendar_new"),
    path("settings/calendars/<uuid:calendar_id>", calendars.calendar, name="calendar"),
    path(
        "settings/calendars/<uuid:calendar_id>/edit", calendars.calendar_edit, name="calendar_edit"
    ),
    path(
        "settings/calendars/<uuid:calendar_id>/import",
        calendars.calendar_import,
        name="calendar_import",
    ),
    path(
        "settings/calendars/<uuid:calendar_id>/delete",
        calendars.calendar_delete,
        name="calendar_delete",
    ),
    path("settings/zones", zones.zones, name="zones"),
    path("settings/try", settings.try_channel, name="settings_try"),
    path("settings/confirm", settings.confirm_address, name="settings_confirm"),
    path("settings/push", settings.push_subscribe, name="push_subscribe"),
    path(
        "settings/push/<uuid:subscription_id>/remove",
        settings.push_unsubscribe,
        name="push_unsubscribe",
    ),
    path("push-worker.js", settings.push_worker, name="push_worker"),
]
