"""What each kind of process loads: memory that nothing uses is paid by every installation."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.installation import ROOT

_LOADED = """
import sys, django
django.setup()
if sys.argv[1:]:
    from scheduler_site.celery import app
    app.loader.import_default_modules()
print(*sorted(name for name in sys.modules if "." not in name or name == "dashboard.views"))
"""


def loaded(kind: str, *arguments: str) -> set[str]:
    environment = {**os.environ, "PROCESS_KIND": kind, "SECRET_KEY": "x" * 50}
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("kind", ["supervisor", "receiver"])
def test_who_only_starts_others_or_answers_calls_loads_no_application(kind: str):
    found = loaded(kind)

    assert "scheduler_site" in found
    assert found.isdisjoint({"celery", "rest_framework", "channels", "notifications"})


def test_a_worker_loads_its_tasks_and_no_pages():
    found = loaded("worker", "tasks")

    assert {"celery", "executions", "notifications"} <= found
    assert "dashboard.views" not in found
    # Chat services need them, with the first message.
    assert found.isdisjoint({"apprise", "requests"})


def test_everything_else_loads_all_applications():
    assert {"celery", "rest_framework", "channels", "notifications"} <= loaded("web")


def test_https_only_does_not_start_without_a_proxy_that_may_say_so():
    def started(**variables: str) -> tuple[int, str]:
        environment = {**os.environ, "TLS": "true", **variables}
        done = subprocess.run(
            [sys.executable, "-c", "import django; django.setup()"],
            cwd=ROOT,
            env={**environment, "DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    code, said = started()

    assert (code, "TRUSTED_PROXIES" in said) == (1, True)
    assert started(TRUSTED_PROXIES="127.0.0.1") == (0, "")
