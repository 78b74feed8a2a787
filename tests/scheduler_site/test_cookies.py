"""Cookies are secure wherever people come by HTTPS, and preloading is the owner's own decision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.installation import ROOT

_READ = """
import json
from scheduler_site import settings
names = [
    "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME",
    "SECURE_HSTS_PRELOAD", "SESSION_COOKIE_AGE", "SESSION_IDLE_SECONDS",
]
print(json.dumps({name: getattr(settings, name) for name in names}))
"""


def read(**variables: str) -> dict[str, Any]:
    environment = {**os.environ, "SECRET_KEY": "x" * 50, "PROCESS_KIND": "supervisor", **variables}
    done = subprocess.run(
        [sys.executable, "-c", _READ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "variables",
    [
        {"PUBLIC_URL": "https://punctual.example"},
        {"PUBLIC_URL": "HTTPS://punctual.example", "TLS": "false"},
        {"PUBLIC_URL": "http://a", "TLS": "true", "TRUSTED_PROXIES": "127.0.0.1"},
    ],
)
def test_cookies_are_secure_and_bound_to_the_host_where_people_come_by_https(variables):
    found = read(**variables)

    assert found["SESSION_COOKIE_SECURE"] is found["CSRF_COOKIE_SECURE"] is True
    assert found["SESSION_COOKIE_NAME"] == "__Host-sessionid"
    assert found["CSRF_COOKIE_NAME"] == "__Host-csrftoken"


def test_over_http_cookies_keep_their_names():
    found = read(PUBLIC_URL="http://127.0.0.1:8000", TLS="false")

    assert found["SESSION_COOKIE_SECURE"] is False
    assert found["SESSION_COOKIE_NAME"] == "sessionid"


@pytest.mark.parametrize(
    ("variables", "preloads"),
    [
        ({"TLS": "true"}, False),
        ({"TLS": "true", "HSTS_PRELOAD": "true"}, True),
        ({"TLS": "false", "HSTS_PRELOAD": "true"}, False),
    ],
)
def test_preloading_is_asked_for_by_its_own_setting(variables, preloads):
    assert read(TRUSTED_PROXIES="127.0.0.1", **variables)["SECURE_HSTS_PRELOAD"] is preloads


def test_a_session_lasts_twelve_hours_unused_and_two_weeks_at_most():
    found = read()

    assert (found["SESSION_IDLE_SECONDS"], found["SESSION_COOKIE_AGE"]) == (43200, 1209600)
