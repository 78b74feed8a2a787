"""The console's routes; each group of pages has a module of views of its own."""

from __future__ import annotations

from django.urls import path

from dashboard.views import (
    alerts,
    bulk_jobs,
    dead_letters,
    executions,
    overview,
    search,
    session,
    settings,
    task_form,
    tasks,
    workers,
)

app_name = "dashboard"

urlpatterns = [
    path("login", session.SignIn.as_view(), name="login"),
    path("logout", session.sign_out, name="logout"),
    path("tenant", session.choose_tenant, name="choose_tenant"),
    path("search", search.search, name="search"),
    # overview
    path("", overview.overview, name="overview"),
    # tasks
    path("tasks", tasks.tasks, name="tasks"),
    path("tasks/new", task_form.task_new, name="task_new"),
    path("tasks/preview", task_form.schedule_preview, name="schedule_preview"),
    path("tasks/test", task_form.task_test, name="task_test"),
    path("tasks/<uuid:task_id>", tasks.task, name="task"),
    path("tasks/<uuid:task_id>/edit", task_form.task_edit, name="task_edit"),
    path("tasks/<uuid:task_id>/pause", tasks.pause, name="task_pause"),
    path("tasks/<uuid:task_id>/resume", tasks.resume, name="task_resume"),
    path("tasks/<uuid:task_id>/run", tasks.run, name="task_run"),
    path("tasks/<uuid:task_id>/cancel", tasks.cancel, name="task_cancel"),
    path("tasks/<uuid:task_id>/delete", tasks.delete, name="task_delete"),
    path("tasks/<uuid:task_id>/rollback", tasks.rollback, name="task_rollback"),
    # executions
    path("executions", executions.executions, name="executions"),
    path("executions/<uuid:execution_id>", executions.execution, name="execution"),
    path("executions/<uuid:execution_id>/cancel", executions.cancel, name="execution_cancel"),
    path("executions/<uuid:execution_id>/retry", executions.retry, name="execution_retry"),
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
    # workers and schedulers
    path("workers", workers.workers, name="workers"),
    # alerts and settings
    path("alerts", alerts.alerts, name="alerts"),
    path("alerts/recent", alerts.recent, name="recent_alerts"),
    path("alerts/<uuid:alert_id>", alerts.alert, name="alert"),
    path("alerts/<uuid:alert_id>/mute", alerts.mute, name="alert_mute"),
    path("settings", settings.settings, name="settings"),
    path("settings/save", settings.save, name="settings_save"),
    path("settings/try", settings.try_channel, name="settings_try"),
    path("settings/push", settings.push_subscribe, name="push_subscribe"),
    path(
        "settings/push/<uuid:subscription_id>/remove",
        settings.push_unsubscribe,
        name="push_unsubscribe",
    ),
    path("push-worker.js", settings.push_worker, name="push_worker"),
]
